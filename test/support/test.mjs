// Installs what is missing, builds, and runs every check and test. Ends with `N passed, M failed`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureInstalled, run } from "./ensure-installed.mjs";

ensureInstalled();
const report = join(mkdtempSync(join(tmpdir(), "base-context-test-")), "report.json");
const checks = [
  ["build", process.execPath, ["test/support/build.mjs"]],
  ["lint and format", "node_modules/.bin/biome", ["check", "--error-on-warnings", "."]],
  ["types", "node_modules/.bin/tsc", ["--noEmit"]],
];
let passed = 0;
let failed = 0;
for (const [name, command, args] of checks) {
  console.log(`— ${name}`);
  if (run(command, args) === 0) passed++;
  else failed++;
}
console.log("— tests");
const vitest = ["run", "--config", "test/vitest.config.ts", "--reporter=default", "--reporter=json"];
const status = run("node_modules/.bin/vitest", [
  ...vitest,
  `--outputFile.json=${report}`,
  ...process.argv.slice(2),
]);
try {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
  passed += numPassedTests;
  // A file that fails before its first test counts as one failure.
  failed +=
    numFailedTests +
    testResults.filter((f) => f.status === "failed" && f.assertionResults.length === 0).length;
} catch {
  failed++;
}
if (status !== 0 && failed === 0) failed++;
rmSync(join(report, ".."), { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

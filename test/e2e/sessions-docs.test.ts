import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { cliPath } from "../support/run-cli.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe.each(["sessions.md", "export.md", "compaction.md", "lifecycle.md"])("docs/%s", (page) => {
  const text = readFileSync(join(root, "docs", page), "utf8");
  const commands = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);

  test("has commands", () => expect(commands.length).toBeGreaterThan(0));

  test.each(commands)("runs:\n%s", (command) => {
    const home = mkdtempSync(join(tmpdir(), "docs-"));
    try {
      const { status, stdout, stderr } = spawnSync(
        "sh",
        ["-e", "-c", command.replaceAll("dist/cli.js", join(dirname(cliPath), "cli.js"))],
        { cwd: root, env: { PATH: process.env.PATH, HOME: home, TMPDIR: home }, encoding: "utf8" },
      );
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout).not.toBe("");
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});

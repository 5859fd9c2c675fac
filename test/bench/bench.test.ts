import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("run.mjs", import.meta.url));

test("the bench runs a case and tells what it measured", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    script,
    "--quick",
    "--runs=1",
    "--case=short",
    "--json",
  ]);
  const [{ name, programs, rows }] = JSON.parse(stdout);
  expect(name).toBe("short");
  expect(programs.map((program: { name: string }) => program.name)).toEqual([
    "node -e 0",
    "floor",
    "base-context",
  ]);
  expect(rows.map((row: { result: unknown }) => typeof row.result)).toEqual(rows.map(() => "number"));
});

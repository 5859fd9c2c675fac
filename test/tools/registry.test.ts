import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { StartupError } from "../../src/contract/errors.ts";
import { createTools, type ToolsOptions, toolNames } from "../../src/tools/registry.ts";
import { temporaryFolder } from "./shell/temporary-folder.ts";

function tools(options: Partial<ToolsOptions>): string[] {
  const made = createTools({
    names: undefined,
    env: process.env,
    credentialNames: [],
    secrets: [],
    passEnv: [],
    shell: {},
    spillFolder: "/dev/null",
    images: { autoResize: true, block: false },
    ...options,
  });
  return made.map(({ name }) => name);
}

async function folderWithPython(mode: number): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "python3"), "#!/bin/sh\n");
  await chmod(join(folder, "python3"), mode);
  return folder;
}

describe("the tools of a run are", () => {
  test("all by default", async () => {
    expect(tools({ env: { PATH: await folderWithPython(0o755) } })).toEqual([...toolNames]);
  });

  test("all but ipython without a Python that can be run", async () => {
    const withoutPython = toolNames.filter((name) => name !== "ipython");
    expect(tools({ env: { PATH: await folderWithPython(0o644) } })).toEqual(withoutPython);
    expect(tools({ env: {} })).toEqual(withoutPython);
  });

  test("those that were asked for, each once", () => {
    expect(tools({ names: [" ls", "read", "ls", ""] })).toEqual(["read", "ls"]);
  });

  test("none when none are wanted", () => {
    expect([tools({ none: true }), tools({ names: [] })]).toEqual([[], []]);
  });
});

describe("a run is refused for", () => {
  const cases: [string, Partial<ToolsOptions>, string][] = [
    [
      "a name that is no tool's",
      { names: ["read", "bahs"] },
      'unknown tool "bahs": did you mean bash? the tools are read, bash, edit, write, grep, find, ls, ipython',
    ],
    [
      "ipython without a Python",
      { names: ["ipython"], env: { PATH: "/nonexistent" } },
      "the tool ipython cannot be used: there is no python3 or python on the PATH; install Python or set BASE_CONTEXT_PYTHON",
    ],
    [
      "ipython with a chosen Python that is none",
      { names: ["ipython"], env: { ...process.env, BASE_CONTEXT_PYTHON: "/no/python" } },
      "the tool ipython cannot be used: BASE_CONTEXT_PYTHON is /no/python, which is not a program that can be run",
    ],
  ];
  test.each(cases)("%s", (_case, options, message) => {
    expect(() => tools(options)).toThrow(new StartupError(message));
  });
});

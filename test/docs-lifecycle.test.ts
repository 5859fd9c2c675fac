import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lifecycleCommands } from "../src/flags/lifecycle-commands.ts";
import { runPaths } from "../src/runs/run-folder.ts";

const text = readFileSync(new URL("../docs/lifecycle.md", import.meta.url), "utf8");

/** The names in backticks that start the rows of the table behind a heading or, without one, of the first table. */
function names(heading = ""): string[] {
  const section = text.slice(text.indexOf(heading)).split("\n\n## ")[0] ?? "";
  return [...section.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]*)`/g)].map(([, name = ""]) => name),
  );
}

test("docs/lifecycle.md has every command, by its forms", () => {
  expect(names()).toEqual(lifecycleCommands.flatMap(([, { usages }]) => usages.map(([form]) => form)));
});

test("docs/lifecycle.md has every option of attach", () => {
  const [, attach] = lifecycleCommands.find(([name]) => name === "attach") ?? [];
  const shown = names("## attach").join(" ");
  expect(attach?.options.filter(({ name }) => !shown.includes(name))).toEqual([]);
});

test("docs/lifecycle.md has every file of a run", () => {
  const files = Object.values(runPaths("")).sort();
  expect(names("## What is kept").sort()).toEqual(files);
});

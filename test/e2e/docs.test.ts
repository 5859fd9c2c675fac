import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cliPath } from "../support/run-cli.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** A block of commands, and how it has to end. */
type Example = {
  readonly page: string;
  readonly line: number;
  readonly shell: string;
  readonly status: number;
  readonly script: string;
};

let clone: string;
beforeAll(() => {
  clone = copyOfRepository();
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

const examples = pages.flatMap(examplesOf);

test.each(examples)(
  "the commands of $page, line $line, end as the page says",
  async ({ shell, script, status }) => {
    const end = await runExample(shell, script);
    const said = status === 0 ? { stdout: expect.stringMatching(/./), stderr: withoutComplaint } : {};
    expect(end).toMatchObject({ status, ...said });
  },
  120_000,
);

test("the programs of the pages have the types that the package gives them", async () => {
  const programs = pages.flatMap((page) => blocksOf(page, "ts"));
  expect(programs).not.toEqual([]);
  const folder = join(clone, "programs");
  mkdirSync(folder);
  for (const [index, program] of programs.entries()) writeFileSync(join(folder, `${index}.mts`), program);
  const compilerOptions = {
    strict: true,
    module: "nodenext",
    target: "es2023",
    noEmit: true,
    types: ["node"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  expect(await runExample("sh", "node_modules/.bin/tsc -p programs")).toMatchObject({
    status: 0,
    stdout: "",
  });
});

describe.each(pages)("%s", (page) => {
  const text = readFileSync(join(root, page), "utf8");

  test.skipIf(page === "docs/architecture.md")("has commands to run", () => {
    expect(examples.filter((example) => example.page === page)).not.toEqual([]);
  });

  test("has links that lead somewhere", () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
    const dead = links.filter(([, file = "", anchor]) => {
      const target = file === "" ? page : join(dirname(page), file);
      return !existsSync(join(root, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });

  test.skipIf(page === "README.md")("is linked from the README", () => {
    expect(readFileSync(join(root, "README.md"), "utf8")).toContain(`](${page})`);
  });
});

const withoutComplaint = expect.not.stringMatching(/^base-context: /m);

/** The blocks of a page whose language is `sh` or `bash`; the words behind that may say `status=N`. */
function examplesOf(page: string): Example[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/^```(sh|bash)(?: status=(\d+))?\n(.*?)^```/gms)].map((found) => ({
    page,
    line: text.slice(0, found.index).split("\n").length,
    shell: found[1] ?? "",
    status: Number(found[2] ?? 0),
    script: found[3] ?? "",
  }));
}

/** The blocks of a page in a language. */
function blocksOf(page: string, language: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(
    ([, block = ""]) => block,
  );
}

/** The names that the headings of a page can be linked by. */
function anchorsOf(page: string): string[] {
  const headings = [...readFileSync(join(root, page), "utf8").matchAll(/^#+ (.*)$/gm)];
  return headings.map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** Runs a block as somebody would who has just cloned and built, without a key and with an empty home. */
function runExample(
  shell: string,
  script: string,
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const home = mkdtempSync(join(clone, "home-"));
  const child = spawn(shell, ["-ec", script], {
    cwd: clone,
    env: { PATH: process.env.PATH, HOME: home, TMPDIR: home },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 110_000,
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  return new Promise((resolve) => child.on("close", (status) => resolve({ status, ...said })));
}

/** What a clone holds, with the packages installed and the program built. */
function copyOfRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), "base-context-docs-"));
  const files = ["docs", "src", "test/support", "package.json", "package-lock.json", "tsconfig.json"];
  for (const file of files)
    cpSync(join(root, file), join(folder, file), { recursive: true, preserveTimestamps: true });
  cpSync(dirname(cliPath), join(folder, "dist"), { recursive: true });
  linkPackages(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Links each package by itself, so that nothing that empties the copy's folder could reach the packages. */
function linkPackages(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (name.startsWith("@")) linkPackages(join(from, name), join(to, name));
    else if (name === ".package-lock.json") cpSync(join(from, name), join(to, name));
    else if (name === ".bin" || !name.startsWith(".")) symlinkSync(join(from, name), join(to, name));
  }
}

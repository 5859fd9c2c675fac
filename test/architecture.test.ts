import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));

type Import = {
  readonly file: string;
  readonly target: string;
  readonly lazy: boolean;
  readonly typeOnly: boolean;
};

const files = (readdirSync(src, { recursive: true }) as string[])
  .filter((file) => file.endsWith(".ts"))
  .sort();
const imports: readonly Import[] = files.flatMap(importsOf);

/** Which folders a folder may import besides itself; a file directly in src is its own floor. */
const floors: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  agent: ["contract"],
  session: ["agent", "contract"],
  providers: ["contract"],
  tools: ["contract"],
  sinks: ["contract"],
  config: ["contract"],
  commands: ["runs", "session", "contract", "config", "providers"],
  runs: ["session", "contract", "config"],
};

/** Who alone may import a library, and whether only when it is used. */
const owners: readonly { readonly library: RegExp; readonly files: RegExp; readonly lazy: boolean }[] = [
  { library: /^openai(\/|$)/, files: /^providers\/openai-/, lazy: false },
  { library: /^@anthropic-ai\/sdk(\/|$)/, files: /^providers\/anthropic-messages/, lazy: false },
  { library: /^execa$/, files: /^tools\/shell\.ts$/, lazy: true },
  { library: /^@agentclientprotocol\/sdk(\/|$)/, files: /^runs\/acp/, lazy: false },
  { library: /^commander$/, files: /^flags/, lazy: false },
];

/** Files that load an SDK; they are imported when they are used and not before. */
const heavy = /^providers\/(openai-completions|openai-responses|openai-codex|anthropic-messages)\.ts$/;

test.each(Object.keys(floors))("%s imports only the floors below it", (folder) => {
  const allowed = new Set([folder, ...(floors[folder] ?? [])]);
  const wrong = imports
    .filter(({ file }) => folderOf(file) === folder)
    .filter(({ target }) => target.startsWith(src) && !allowed.has(folderOf(relative(src, target))))
    .filter(({ target }) => relative(src, target) !== "version.ts" && !target.endsWith("package.json"))
    .map(({ file, target }) => `${file} imports ${relative(src, target)}`);
  expect(wrong).toEqual([]);
});

test("each library is imported by its owner only", () => {
  const wrong = imports.flatMap(({ file, target, lazy, typeOnly }) =>
    owners
      .filter(({ library }) => library.test(target))
      .filter((owner) => !owner.files.test(file) || (owner.lazy && !lazy && !typeOnly))
      .map(() => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("what loads an SDK is imported lazily", () => {
  const wrong = imports
    .filter(({ target }) => heavy.test(relative(src, target)))
    .filter(({ file, lazy, typeOnly }) => !lazy && !typeOnly && !heavy.test(file))
    .map(({ file, target }) => `${file} imports ${relative(src, target)}`);
  expect(wrong).toEqual([]);
});

test("nothing that a start imports loads zod or an SDK", () => {
  const seen = new Set<string>();
  const loaded: string[] = [];
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const { target, lazy, typeOnly } of imports.filter((each) => each.file === file)) {
      if (lazy || typeOnly) continue;
      if (target.startsWith(src)) visit(relative(src, target));
      else if (!target.startsWith("node:")) loaded.push(`${file} loads ${target}`);
    }
  };
  visit("cli.ts");
  visit("start/start-run.ts");
  visit("serve/presence.ts");
  expect(loaded.filter((line) => /loads (zod|openai|@anthropic|execa)/.test(line))).toEqual([]);
});

test("only cli.ts touches the process, and the engine does not even know it", () => {
  const wrong = files
    .filter((file) => file !== "cli.ts")
    .filter((file) => /\bprocess\.(exit|exitCode|stdin|stdout|stderr|argv|env|on|cwd)\b/.test(code(file)))
    .map((file) => file);
  expect(wrong).toEqual([]);
});

function importsOf(file: string): Import[] {
  const text = code(file);
  const found: Import[] = [];
  const add = (specifier: string, lazy: boolean, typeOnly: boolean) => {
    const target = specifier.startsWith(".") ? join(src, dirname(file), specifier) : specifier;
    found.push({ file, target, lazy, typeOnly });
  };
  for (const [, typeOnly, specifier = ""] of text.matchAll(
    /^(?:import|export)\s+(type\s)?[^;]*?from\s+"([^"]+)"/gm,
  ))
    add(specifier, false, typeOnly !== undefined);
  for (const [, specifier = ""] of text.matchAll(/^import\s+"([^"]+)"/gm)) add(specifier, false, false);
  for (const [, specifier = ""] of text.matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g)) add(specifier, true, false);
  return found;
}

function code(file: string): string {
  return readFileSync(join(src, file), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
}

function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : path;
}

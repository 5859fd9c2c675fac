import { readdirSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
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

/** Which folders, and which files directly in src, a folder may import besides itself. */
const floors: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  agent: ["contract"],
  session: ["agent", "contract"],
  providers: ["contract"],
  tools: ["contract"],
  sinks: ["contract"],
  config: ["contract"],
  runs: ["session", "contract", "config"],
  commands: ["runs", "session", "contract", "config", "providers", "version.ts"],
  flags: ["commands", "contract"],
  start: [
    ...[
      "flags",
      "report",
      "commands",
      "runs",
      "session",
      "providers",
      "tools",
      "sinks",
      "config",
      "contract",
    ],
    ...["host.ts", "main.ts", "redaction.ts"],
  ],
  dispatch: [
    ...["serve", "start", "flags", "commands", "session", "providers", "tools", "config", "contract"],
    ...["host.ts", "main.ts", "version.ts"],
  ],
  report: ["flags", "start", "session", "sinks", "tools", "contract", "exit-status.ts", "host.ts", "main.ts"],
  serve: [
    ...["start", "flags", "commands", "runs", "session", "sinks", "config", "contract"],
    ...["host.ts", "main.ts", "version.ts"],
  ],
};

/** Who alone may import a library, and whether only when it is used. */
const owners: readonly { readonly library: RegExp; readonly files: RegExp; readonly lazy?: true }[] = [
  { library: /^zod$/, files: /^contract\/(?:message-schemas|schema)\.ts$|^commands\/schema\.ts$/ },
  { library: /^@anthropic-ai\/sdk(\/|$)/, files: /^providers\/anthropic-messages\/adapter\.ts$/, lazy: true },
  { library: /^eventsource-parser$/, files: /^providers\/http\/sse\.ts$/ },
  { library: /^@vscode\/ripgrep$/, files: /^tools\/search\/ripgrep\.ts$/, lazy: true },
  { library: /^sharp$/, files: /^tools\/files\/resize-image\.ts$/, lazy: true },
  { library: /^image-size$/, files: /^tools\/files\/read-image\.ts$/, lazy: true },
  { library: /^diff$/, files: /^tools\/files\/edit-diff\.ts$/, lazy: true },
  { library: /^ignore$/, files: /^tools\/search\/ignore-rules\.ts$/ },
  { library: /^picomatch$/, files: /^tools\/search\/glob\.ts$/ },
  { library: /^@agentclientprotocol\/sdk$/, files: /^runs\/acp\// },
  { library: /^ajv(\/|$)/, files: /^start\/output-schema-/ },
  { library: /^markdown-it$/, files: /^commands\/export-html\/markdown\.ts$/ },
  { library: /^highlight\.js\//, files: /^commands\/export-html\/highlight\.ts$/ },
];

/** What speaks an API; a run needs one of them, so that they are imported when they are used and not before. */
const heavy = /^providers\/[a-z-]+\/(?:adapter|codex)\.ts$/;

test("every folder has its floor", () => {
  expect([...new Set(files.map(folderOf))].filter((name) => !name.endsWith(".ts")).sort()).toEqual(
    Object.keys(floors).sort(),
  );
});

test.each(Object.keys(floors))("%s imports only the floors below it", (folder) => {
  const allowed = new Set([folder, ...(floors[folder] ?? [])]);
  const wrong = imports
    .filter(({ file }) => folderOf(file) === folder)
    .filter(({ target }) => target.startsWith(src) && !allowed.has(folderOf(relative(src, target))))
    .map(({ file, target }) => `${file} imports ${relative(src, target)}`);
  expect(wrong).toEqual([]);
});

test("only cli.ts loads main.ts, and all others its types", () => {
  const wrong = imports
    .filter(({ file, target, typeOnly }) => target === join(src, "main.ts") && file !== "cli.ts" && !typeOnly)
    .map(({ file }) => file);
  expect(wrong).toEqual([]);
});

test("no files load each other in a circle", () => {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" > "));
    if (path.includes(file) || done.has(file)) return;
    for (const { target, lazy, typeOnly } of imports.filter((each) => each.file === file))
      if (!lazy && !typeOnly && target.startsWith(src)) visit(relative(src, target), [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

test("each library is imported by its owner only", () => {
  const wrong = imports
    .filter(({ target }) => !isAbsolute(target) && !target.startsWith("node:"))
    .filter(({ file, target, lazy, typeOnly }) => {
      const owner = owners.find(({ library }) => library.test(target));
      return owner === undefined || !owner.files.test(file) || (owner.lazy === true && !lazy && !typeOnly);
    })
    .map(({ file, target }) => `${file} imports ${target}`);
  expect(wrong).toEqual([]);
});

test("what speaks an API is imported lazily", () => {
  const wrong = imports
    .filter(({ target }) => heavy.test(relative(src, target)))
    .filter(({ file, lazy, typeOnly }) => !lazy && !typeOnly && !heavy.test(file))
    .map(({ file, target }) => `${file} imports ${relative(src, target)}`);
  expect(wrong).toEqual([]);
});

test("nothing that a start imports loads zod or an API", () => {
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
  expect(loaded.filter((line) => /loads (zod|@anthropic)/.test(line))).toEqual([]);
});

test("only cli.ts touches the process", () => {
  const wrong = files
    .filter((file) => file !== "cli.ts")
    .filter((file) => /\bprocess\.(exit|exitCode|stdin|stdout|stderr|argv|env|on|cwd)\b/.test(code(file)));
  expect(wrong).toEqual([]);
});

test("the engine knows neither the process nor other processes nor the network", () => {
  const wrong = files
    .filter((file) => /^(agent|session)\//.test(file))
    .filter((file) => /\bprocess\.[a-z]|"node:(process|child_process|net|https?|tls)"/.test(code(file)));
  expect(wrong).toEqual([]);
});

function importsOf(file: string): Import[] {
  const text = code(file);
  const found: Import[] = [];
  const add = (specifier: string, lazy: boolean, typeOnly: boolean) => {
    const target = specifier.startsWith(".") ? join(src, dirname(file), specifier) : specifier;
    found.push({ file, target, lazy, typeOnly });
  };
  for (const [, names = "", specifier = ""] of text.matchAll(
    /^(?:import|export)\s+([\w\s{},*$]+?)\s*\bfrom\s+"([^"]+)"/gm,
  ))
    add(specifier, false, /^type\s/.test(names));
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

// Builds dist/: the program, the data files that it reads at run time, and the package's public entry with its types.
// BASE_CONTEXT_DIST names another folder, for a build beside the one that is in use.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { keepCodeCache } from "./code-cache.mjs";
import { ensureInstalled, root, run } from "./ensure-installed.mjs";
import { thirdPartyNotices } from "./notices.mjs";

/** Files that hold what these modules import, and are loaded at once. */
const lateFiles = [
  ["sessions", "dispatch/run-lifecycle-command.ts", "dispatch/session-folder.ts", "commands/list.ts"],
  [
    "run",
    "start/start-run.ts",
    "serve/presence.ts",
    "providers/http/sse.ts",
    "providers/http/post.ts",
    "providers/http/request-body.ts",
    "providers/kept.ts",
    "providers/create-adapter.ts",
    "providers/history.ts",
    "providers/output-limit.ts",
    "providers/settle-within.ts",
    "providers/openai-answer-schema.ts",
    "providers/tool-call-ids.ts",
  ],
  ["later", "runs/control-server.ts", "runs/tidy-up.ts", "sinks/reader-watch.ts"],
  ["shell", "tools/shell/shell.ts", "tools/shell/output-buffer.ts", "tools/shell/live-updates.ts"],
];

ensureInstalled();
const target = resolve(root, process.env.BASE_CONTEXT_DIST ?? "dist");
const fresh = `${target}.new-${process.pid}`;
const old = `${target}.old-${process.pid}`;
try {
  await bundle();
  copyFileSync(`${root}src/providers/models/models.json`, `${fresh}/models.json`);
  await keepCodeCache(fresh);
  const types = ["-p", "test/support/tsconfig.types.json", "--outDir", `${fresh}/types`];
  process.exitCode = run("node_modules/.bin/tsc", types);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
if (process.exitCode === 0) {
  // The new build takes the old one's place when all of it is there: for an instant only, who starts finds neither.
  if (existsSync(target)) renameSync(target, old);
  renameSync(fresh, target);
  rmSync(old, { recursive: true, force: true });
} else rmSync(fresh, { recursive: true, force: true });

async function bundle() {
  const { build } = await import("rolldown");
  const imports = watchImports();
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const common = {
    cwd: root,
    platform: "node",
    external: Object.keys({ ...dependencies, ...optionalDependencies }),
    moduleTypes: { ".md": "text", ".py": "text" },
    transform: { target: "node20" },
    plugins: [imports.plugin],
    logLevel: "warn",
  };
  // Names stay as they are: they are what a stack trace is read by.
  const minify = { compress: true, mangle: false, codegen: { removeWhitespace: true } };
  // Node loads CommonJS in less than half the time of modules, and one file faster than twenty: what every command needs
  // is in main.js, what every run needs besides in run.js, all else in files that are loaded when they are used.
  const program = await build({
    ...common,
    input: { main: "src/cli.ts" },
    output: {
      dir: fresh,
      format: "cjs",
      minify,
      entryFileNames: "[name].js",
      chunkFileNames: nameChunk,
      plugins: [{ name: "late-builtins", renderChunk: requireLate, generateBundle: escapeWide }],
      codeSplitting: {
        groups: [
          { name: "main", tags: ["$initial"] },
          ...lateFiles.map(([name, ...roots]) => ({ name, test: (id) => imports.reach(roots, id) })),
        ],
      },
    },
  });
  copyFileSync(`${root}src/launch.cjs`, `${fresh}/cli.js`);
  chmodSync(`${fresh}/cli.js`, 0o755);
  writeFileSync(`${fresh}/package.json`, '{ "type": "commonjs" }\n');
  const library = await build({
    ...common,
    input: { index: "src/index.ts" },
    output: { dir: fresh, format: "esm", entryFileNames: "[name].mjs" },
  });
  const bundled = [program, library].flatMap(({ output }) =>
    output.flatMap(({ moduleIds = [] }) => moduleIds),
  );
  writeFileSync(`${fresh}/THIRD-PARTY-NOTICES.txt`, thirdPartyNotices(bundled));
}

/** A chunk is named after its file, and after the folder where that says what the file is of. */
function nameChunk({ name, facadeModuleId, moduleIds }) {
  const file = facadeModuleId ?? moduleIds.at(-1) ?? "";
  const folder = basename(dirname(file));
  const isOfApi = basename(file, ".ts") === name && basename(dirname(dirname(file))) === "providers";
  if (!isOfApi) return "[name].js";
  return name === "adapter" ? `${folder}.js` : `${folder}-${name}.js`;
}

/** One character beyond Latin-1, and V8 keeps two bytes for each character of the file. */
function escapeWide(_, files) {
  for (const file of Object.values(files)) {
    if (file.type !== "chunk") continue;
    file.code = file.code.replace(
      /[\u0100-\uffff]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  }
}

/** Learns which modules import which, not counting what is loaded late. */
function watchImports() {
  const imported = new Map();
  const reached = new Map();
  const reachable = (roots) => {
    const found = new Set(roots.map((file) => `${root}src/${file}`));
    for (const id of found) for (const next of imported.get(id) ?? []) found.add(next);
    return found;
  };
  return {
    plugin: { name: "imports", moduleParsed: ({ id, importedIds }) => void imported.set(id, importedIds) },
    reach(roots, id) {
      if (!reached.has(roots)) reached.set(roots, reachable(roots));
      return reached.get(roots).has(id);
    },
  };
}

/**
 * Puts the `require` of each of Node's modules where it is used, so that a start loads only those that it uses: all of
 * them together cost a quarter of the time to the session header. Those that Node itself has loaded stay where they are.
 */
function requireLate(code) {
  const declaration = /^(?:let|const) (node_(?!fs\b|path\b)\w+) = (require\("node:[\w/]+"\));\n/gm;
  const late = new Map();
  const rest = code.replace(declaration, (line, name, call) => {
    // A default import wraps the module and gives the name a new value.
    if (new RegExp(`^${name} = `, "m").test(code)) return line;
    // In parentheses: `new` would take the call for its constructor.
    late.set(name, `(${call})`);
    return "";
  });
  return rest
    .replace(/\bnode_\w+\b/g, (name) => late.get(name) ?? name)
    .replace(/\bimport\("(node:[\w/]+)"\)/g, 'Promise.resolve().then(() => require("$1"))');
}

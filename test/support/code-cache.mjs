import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./ensure-installed.mjs";

/**
 * Keeps beside the built program what this version of Node compiles of its files in a run of each API. A program
 * without it only starts slower, so that a failure here is none of the build.
 */
export async function keepCodeCache(dist) {
  const caches = join(dist, "code-cache", `${process.version}-${process.arch}`);
  const home = mkdtempSync(join(tmpdir(), "base-context-build-"));
  try {
    mkdirSync(caches, { recursive: true });
    // What has a cache, be it an empty one, is loaded such that it can be kept.
    for (const file of readdirSync(dist).filter((name) => canBeKept(dist, name)))
      writeFileSync(join(caches, `${file}.bin`), "");
    const { apiWires, startProvider } = await loadProvider(home);
    // What the last run leaves counts: it is of the API that most servers speak.
    const apis = ["anthropic-messages", "openai-responses", "openai-completions"];
    for (const wire of apis.map((name) => apiWires.find(({ api }) => api === name))) {
      for (const part of ["before", "after"]) {
        const server = await startProvider(conversation(wire));
        await runOnce({ dist, caches, home, part, url: server.url, api: wire.api }).finally(server.close);
      }
    }
    for (const path of readdirSync(caches).map((name) => join(caches, name)))
      if (statSync(path).size === 0) rmSync(path);
  } catch (error) {
    console.error(`the code cache could not be made: ${error.message}`);
    rmSync(join(dist, "code-cache"), { recursive: true, force: true });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Node imports nothing for a file that it did not load itself. */
function canBeKept(dist, name) {
  const isProgram = name.endsWith(".js") && name !== "cli.js";
  return isProgram && !/\bimport\([`"]/.test(readFileSync(join(dist, name), "utf8"));
}

/** The scripted provider of the tests. */
async function loadProvider(folder) {
  const { build } = await import("rolldown");
  const input = { wires: "test/support/api-wires.ts", server: "test/support/provider-server.ts" };
  const output = { dir: folder, format: "esm", entryFileNames: "[name].mjs" };
  await build({ cwd: root, platform: "node", input, output, logLevel: "warn" });
  const load = (name) => import(pathToFileURL(join(folder, `${name}.mjs`)).href);
  return { ...(await load("wires")), ...(await load("server")) };
}

function conversation({ reply }) {
  // Some of what a run loads comes only when it is not over at once.
  const calls = [{ name: "bash", args: { command: "sleep 0.2; echo done" } }];
  return [
    reply({ thinking: ["Let us ", "see."], text: ["I ", "look."], calls }),
    reply({ text: ["It ", "is ", "done."] }),
  ];
}

function runOnce({ dist, caches, home, part, url, api }) {
  const provider = {
    baseUrl: api === "anthropic-messages" ? url : `${url}/v1`,
    api,
    apiKey: "none-is-needed",
    models: [{ id: "m", reasoning: true }],
  };
  writeFileSync(join(home, "models.json"), JSON.stringify({ providers: { local: provider } }));
  const preload = `${root}test/support/keep-code-cache.cjs`;
  const options = ["--mode", "json", "--model", "local/m", "--no-context-files"];
  const child = spawn(process.execPath, ["--require", preload, join(dist, "cli.js"), ...options, "Go on"], {
    cwd: home,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      BASE_CONTEXT_HOME: home,
      CODE_CACHE: caches,
      CODE_CACHE_OF: part,
    },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: 30_000,
  });
  return new Promise((resolve, reject) => {
    let words = "";
    child.stderr.on("data", (chunk) => {
      words += chunk;
    });
    child.on("error", reject).on("close", (status) => {
      if (status === 0) resolve();
      else reject(new Error(`the run of ${api} ended with status ${status}: ${words.trim()}`));
    });
  });
}

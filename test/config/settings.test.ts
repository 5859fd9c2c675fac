import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defaultSettings, loadSettings } from "../../src/config/settings.ts";
import { StartupError } from "../../src/contract/errors.ts";

let root: string;
let home: string;
let cwd: string;
let warnings: string[];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "settings-"));
  home = join(root, "home");
  cwd = join(root, "project");
  warnings = [];
  await mkdir(home);
  await mkdir(join(cwd, ".base-context"), { recursive: true });
});

afterEach(() => rmSync(root, { recursive: true }));

async function load() {
  return loadSettings({ home, cwd, env: { HOME: root }, warn: (line) => warnings.push(line) });
}

const globalFile = () => join(home, "settings.json");
const projectFile = () => join(cwd, ".base-context", "settings.json");

describe("loadSettings", () => {
  test("gives the defaults where no file is", async () => {
    expect(await load()).toEqual({
      retry: { enabled: true, maxRetries: 3, baseDelayMs: 2000, maxDelayMs: 60_000 },
      timeouts: { firstEventMs: 300_000, idleMs: 120_000 },
      compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 },
      steeringMode: "one-at-a-time",
      followUpMode: "one-at-a-time",
      shell: {},
      autonomous: { enabled: false, gate: [] },
      runs: { maxEventsBytes: 268_435_456 },
      images: { autoResize: true, block: false },
    });
  });

  test("lays the project's file over the global one, key by key", async () => {
    await writeFile(
      globalFile(),
      JSON.stringify({
        defaultModel: "m",
        retry: { maxRetries: 1, baseDelayMs: 5 },
        sessionDir: "~/s",
        steeringMode: "all",
      }),
    );
    await writeFile(
      projectFile(),
      JSON.stringify({ retry: { maxRetries: 7 }, defaultThinkingLevel: "high" }),
    );
    expect(await load()).toEqual({
      ...defaultSettings,
      defaultModel: "m",
      defaultThinkingLevel: "high",
      steeringMode: "all",
      sessionDir: join(root, "s"),
      retry: { enabled: true, maxRetries: 7, baseDelayMs: 5, maxDelayMs: 60_000 },
    });
    expect(warnings).toEqual([]);
  });

  test("takes ~ for the user's home folder in the path of the shell", async () => {
    await writeFile(globalFile(), '{"shell": {"path": "~/bin/sh", "commandPrefix": "set -e"}}');
    expect((await load()).shell).toEqual({ path: join(root, "bin/sh"), commandPrefix: "set -e" });
  });

  test("takes one gate or several", async () => {
    await writeFile(globalFile(), '{"autonomous": {"gate": "npm test", "maxTurns": 5}}');
    expect((await load()).autonomous).toEqual({ enabled: false, gate: ["npm test"], maxTurns: 5 });
    await writeFile(globalFile(), '{"autonomous": {"gate": ["a", "b"]}}');
    expect((await load()).autonomous).toEqual({ enabled: false, gate: ["a", "b"] });
    await writeFile(globalFile(), '{"autonomous": {"gate": [" "]}}');
    await expect(load()).rejects.toThrow("autonomous.gate[0]: it has to be a command, not blank");
  });

  test("skips a byte order mark", async () => {
    await writeFile(globalFile(), '\uFEFF{"defaultModel": "m"}');
    expect(await load()).toEqual({ ...defaultSettings, defaultModel: "m" });
  });

  test.each([
    ['{\n  "retry": {"maxRetrys": 1}\n}', ":2:13: retry.maxRetrys: unknown key, did you mean maxRetries?"],
    ['{"temprature": 1}', ":1:2: temprature: unknown key, did you mean"],
    ['{"retry": {"maxRetries": "3"}}', ":1:12: retry.maxRetries: it has to be a number, not a string"],
    ['{"retry": {"maxRetries": -1}}', ":1:12: retry.maxRetries: it has to be at least 0"],
    ['{"timeouts": {"idleMs": 0}}', ":1:15: timeouts.idleMs: it has to be above 0"],
    ['{"timeouts": {"idleMs": 1.5}}', ":1:15: timeouts.idleMs: it has to be a whole number, not 1.5"],
    ['{"retry": null}', ":1:2: retry: it has to be an object, not null"],
    ['{"steeringMode": "some"}', ':1:2: steeringMode: it has to be one of "all", "one-at-a-time"'],
    ['{"images": {"block": 1}}', ":1:13: images.block: it has to be true or false, not 1"],
    [
      '{"defaultModel": "a", "defaultModel": "b"}',
      ":1:23: defaultModel: the key is there twice: keep one of them",
    ],
    ["[]", ":1: it has to hold one JSON object"],
    ["null", ":1: it has to hold one JSON object"],
    ["  \n", " is empty: write {} or remove it"],
    ["", " is empty: write {} or remove it"],
    ['{"a": 1,}', ":1:9: not valid JSON: unexpected } behind a comma"],
  ])("refuses %j with file, line and key", async (text, problem) => {
    for (const file of [globalFile(), projectFile()]) {
      await writeFile(file, text);
      const error = await load().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StartupError);
      expect(String(error)).toContain(`StartupError: ${file}${problem}`);
      expect(String(error)).not.toContain("\n");
      rmSync(file);
    }
  });

  test("refuses a file that cannot be read or is not UTF-8", async () => {
    await mkdir(globalFile());
    await expect(load()).rejects.toThrow(`${globalFile()} cannot be read: EISDIR`);
    rmSync(globalFile(), { recursive: true });
    await writeFile(globalFile(), Buffer.from([0x7b, 0xff, 0x7d]));
    await expect(load()).rejects.toThrow(`${globalFile()} is not UTF-8 text`);
  });

  test("ignores what a project may not decide, one line each, and takes the rest", async () => {
    await writeFile(
      projectFile(),
      JSON.stringify({
        providers: { openai: { baseUrl: "http://127.0.0.1:1/v1" } },
        baseUrl: "http://127.0.0.1:1",
        OPENAI_API_KEY: "sk",
        shell: { path: "./evil" },
        sessionDir: "/tmp/x",
        autonomous: { gate: ["rm -rf /"], maxTurns: 3 },
        steeringMode: "all",
      }),
    );
    expect(await load()).toEqual({
      ...defaultSettings,
      steeringMode: "all",
      autonomous: { enabled: false, gate: [], maxTurns: 3 },
    });
    expect(warnings).toEqual(
      ["providers", "baseUrl", "OPENAI_API_KEY", "shell", "sessionDir", "autonomous.gate"].map(
        (key) => `${projectFile()}: ${key} is ignored: only your own settings may set it`,
      ),
    );
  });

  test("does not take settings in by way of a prototype", async () => {
    await writeFile(projectFile(), '{"__proto__": {"shell": {"path": "./evil"}}}');
    await expect(load()).rejects.toThrow("__proto__: unknown key");
  });

  test("ignores a project's models.json", async () => {
    await writeFile(join(cwd, ".base-context", "models.json"), "{}");
    await load();
    expect(warnings).toEqual([
      `${join(cwd, ".base-context", "models.json")} is ignored: only your own models.json may add providers`,
    ]);
  });

  test("takes the home folder for no project, by whatever path", async () => {
    rmSync(join(cwd, ".base-context"), { recursive: true });
    symlinkSync(home, join(cwd, ".base-context"));
    await writeFile(globalFile(), '{"shell": {"path": "/bin/dash"}}');
    expect(await load()).toEqual({ ...defaultSettings, shell: { path: "/bin/dash" } });
    expect(warnings).toEqual([]);
  });
});

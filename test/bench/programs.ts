import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "./measure.ts";

/** Where one run takes place. */
export type Place = {
  /** The repository's root and the folder of the build, each with a final slash. */
  readonly root: string;
  readonly dist: string;
  /** A fresh folder. */
  readonly home: string;
  /** The provider's URL for this run, without the `/v1`. */
  readonly url: string;
};

/** A program of the bench: how it is made to answer a prompt in `place`, or what else it is measured at. */
export type Program = {
  readonly name: string;
  /** A Node program can be asked what it used. */
  readonly isNode: boolean;
  /** What the provider answers it, instead of the case's script. */
  readonly script?: string;
  /** Its own name on PATH, for a program that may not be there. */
  readonly executable?: string;
  command(place: Place): Command;
};

const prompt = "Do what the script says.";

/** The programs that are always there. */
export const programs = {
  node: nodeProgram("node -e 0", () => ["-e", "0"]),
  floor: nodeProgram("floor", ({ root, url }) => [`${root}test/bench/floor.mjs`, `${url}/v1`, prompt]),
  json: ownProgram("base-context", ["--mode", "json", "--model", "bench/m", prompt]),
  deltas: ownProgram("base-context --json-deltas", [
    "--mode",
    "json",
    "--json-deltas",
    "--model",
    "bench/m",
    prompt,
  ]),
  help: ownProgram("base-context --help", ["--help"]),
  version: ownProgram("base-context --version", ["--version"]),
  list: ownProgram("base-context list", ["list"]),
} as const;

/** Other agents, measured when they are on PATH. */
export const peers: readonly Program[] = [
  peer("codex", ({ home, url }) => {
    const provider = `{name="bench", base_url="${url}/v1", env_key="BENCH_KEY", wire_api="responses"}`;
    const settings = ["-c", `model_providers.bench=${provider}`, "-c", 'model_provider="bench"'];
    return {
      args: [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        ...settings,
        "-m",
        "m",
        prompt,
      ],
      env: { CODEX_HOME: folder(home, "codex"), BENCH_KEY: key },
    };
  }),
  peer("claude", ({ url }) => ({
    args: [
      "-p",
      "--output-format",
      "stream-json",
      "--include-partial-messages",
      "--verbose",
      "--allowedTools",
      "Bash",
      "--",
      prompt,
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  })),
  peer("pi", ({ home, url }) => {
    const agent = folder(home, "pi");
    writeFileSync(join(agent, "models.json"), modelsFile(`${url}/v1`));
    return { args: ["--mode", "json", "--model", "bench/m", prompt], env: { PI_CODING_AGENT_DIR: agent } };
  }),
  peer("gemini", ({ url }) => ({
    args: ["--output-format", "stream-json", "--yolo", "-m", "m", "-p", prompt],
    env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key },
  })),
];

const key = "bench-key-12345678";

function nodeProgram(name: string, args: (place: Place) => string[]): Program {
  return {
    name,
    isNode: true,
    command: (place) => ({
      file: process.execPath,
      args: args(place),
      cwd: place.home,
      env: baseEnv(place.home),
    }),
  };
}

function ownProgram(name: string, args: readonly string[]): Program {
  return {
    name,
    isNode: true,
    command({ dist, home, url }) {
      writeFileSync(join(home, "models.json"), modelsFile(`${url}/v1`));
      return {
        file: process.execPath,
        args: [`${dist}cli.js`, ...args],
        cwd: folder(home, "work"),
        env: { ...baseEnv(home), BASE_CONTEXT_HOME: home },
      };
    },
  };
}

function peer(name: string, start: (place: Place) => Pick<Command, "args" | "env">): Program {
  return {
    name,
    isNode: false,
    executable: name,
    command(place) {
      const { args, env } = start(place);
      return { file: name, args, cwd: folder(place.home, "work"), env: { ...baseEnv(place.home), ...env } };
    },
  };
}

/** Nothing of the tester's own keys, proxies or settings. */
function baseEnv(home: string): Record<string, string | undefined> {
  return { PATH: process.env.PATH, LANG: "C.UTF-8", HOME: home };
}

function folder(home: string, name: string): string {
  const path = join(home, name);
  mkdirSync(path, { recursive: true });
  return path;
}

/** A window that no case fills, so that nothing is summarised. */
function modelsFile(baseUrl: string): string {
  const models = [{ id: "m", contextWindow: 1_000_000_000 }];
  const bench = { baseUrl, api: "openai-completions", apiKey: key, models };
  return JSON.stringify({ providers: { bench } });
}

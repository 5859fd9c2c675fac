import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { parseArgs } from "node:util";
import { type Case, cases } from "./cases.ts";
import { type Measurement, measure, type Sample } from "./measure.ts";
import { type Program, peers } from "./programs.ts";
import { measureResume } from "./resume.ts";
import { measureSize } from "./size.ts";
import { type CaseResult, type ResultRow, toRows, toText } from "./table.ts";

export type BenchPlaces = {
  /** The repository's root, with a final slash. */
  readonly root: string;
  /** A folder for all that the bench writes; the provider's program is in it. */
  readonly folder: string;
};

const help = `npm run bench -- [options]

Runs the built program and what it is compared with by turns, and prints medians beside the goals.

  --quick        Few runs: to see that all works, not to compare
  --runs <n>     So many runs of each program
  --case <name>  Only this case (repeatable): NAMES
  --peers        Also codex, claude, pi and gemini, where they are on PATH
  --json         All medians as JSON
  -h, --help     This text
`;

type Options = {
  readonly quick: boolean;
  readonly runs?: number;
  readonly peers: boolean;
  readonly wanted: (name: string) => boolean;
};

/** Runs the bench and prints what it found. Gives the exit status: it never depends on what was measured. */
export async function bench(argv: readonly string[], places: BenchPlaces): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: "boolean", default: false },
      runs: { type: "string" },
      case: { type: "string", multiple: true },
      peers: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help.replace("NAMES", caseNames().join(", ")));
    return 0;
  }
  const unknown = values.case?.find((name) => !caseNames().includes(name));
  if (unknown !== undefined) throw new Error(`no case ${unknown}: the cases are ${caseNames().join(", ")}`);
  const results = await runCases(places, {
    quick: values.quick,
    ...(values.runs === undefined ? {} : { runs: Number(values.runs) }),
    peers: values.peers,
    wanted: (name) => values.case?.includes(name) ?? true,
  });
  process.stdout.write(values.json ? `${JSON.stringify(results, null, 2)}\n` : toText(results));
  return 0;
}

function caseNames(): string[] {
  return [...cases.map(({ name }) => name), "resume", "size"];
}

async function runCases(places: BenchPlaces, options: Options): Promise<readonly CaseResult[]> {
  const dist = join(places.root, process.env.BASE_CONTEXT_DIST ?? "dist", "/");
  const provider = await startProvider(places.folder);
  const results: CaseResult[] = [];
  const add = async (name: string, title: string, rows: () => Promise<readonly ResultRow[]>) => {
    if (options.wanted(name)) results.push({ name, title, programs: [], rows: await rows() });
  };
  try {
    for (const each of cases) {
      if (!options.wanted(each.name)) continue;
      results.push(await runCase(each, { ...places, dist, provider: provider.url, options }));
    }
    await add("resume", "a session of 100,000 entries", () =>
      measureResume({ ...places, dist, url: provider.url, runs: options.quick ? 1 : 10 }),
    );
    await add("size", "npm pack, installed without development dependencies", async () =>
      measureSize(places),
    );
  } finally {
    provider.stop();
  }
  return results;
}

type Surroundings = BenchPlaces & {
  readonly dist: string;
  readonly provider: string;
  readonly options: Options;
};

async function runCase(each: Case, around: Surroundings): Promise<CaseResult> {
  const { options } = around;
  const programs = [...each.programs, ...(each.withPeers && options.peers ? peers.filter(isOnPath) : [])];
  const samples = new Map<Program, Sample[]>(programs.map((program) => [program, []]));
  const runs = options.runs ?? each.runs[options.quick ? 1 : 0];
  // The first round fills caches and is not counted.
  for (let round = options.quick ? 1 : 0; round <= runs; round++) {
    progress(`${each.name}: ${round} of ${runs}`);
    for (const [program, taken] of samples) {
      try {
        const sample = await runOnce(program, each, around);
        if (round > 0) taken.push(sample);
      } catch (error) {
        if (program.executable === undefined) throw error;
        samples.delete(program);
        process.stderr.write(`${program.name} is left out of ${each.name}: ${String(error)}\n`);
      }
    }
  }
  progress("");
  return toRows(each, samples);
}

let runCount = 0;

async function runOnce(program: Program, each: Case, { root, dist, folder, provider }: Surroundings) {
  const id = `run${++runCount}`;
  const home = join(folder, id);
  mkdirSync(home);
  const url = `${provider}/${program.script ?? each.script}/${id}`;
  const command = program.command({ root, dist, home, url });
  const preload = ["--require", `${root}test/bench/usage.cjs`];
  const usage: Measurement["usage"] = !each.usage ? "none" : program.isNode ? "preloaded" : "sampled";
  const args = usage === "preloaded" ? [...preload, ...command.args] : command.args;
  return measure({ ...command, args }, { usage, logUrl: `${provider}/log/${id}` });
}

async function startProvider(folder: string): Promise<{ url: string; stop(): void }> {
  const child = spawn(process.execPath, [join(folder, "provider.mjs")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  return { url: String(line).trim(), stop: () => child.stdin.end() };
}

function isOnPath({ executable = "" }: Program): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, executable), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

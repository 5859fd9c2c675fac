import type { Sample } from "./measure.ts";
import { type Program, programs } from "./programs.ts";

/** One value of the table: a measure of one program beside what it is held against. */
export type Row = {
  readonly title: string;
  readonly of: Program;
  readonly measure: keyof Sample;
  /** What the value is compared with; absent for a value that is limited by itself. */
  readonly against?: {
    readonly program: Program;
    readonly measure: keyof Sample;
    readonly as: "ratio" | "difference";
  };
  /** At most this: a ratio, or in the measure's own unit. */
  readonly goal: number;
};

/** Programs that do the same work by turns, and what is read off. */
export type Case = {
  readonly name: string;
  readonly title: string;
  /** What the provider answers; see provider-answers.ts. */
  readonly script: string;
  /** How often each program runs; with --quick the number behind it. */
  readonly runs: readonly [number, quick: number];
  /** Asks the programs for processor time and memory, which costs a millisecond. */
  readonly usage: boolean;
  /** The peers take part. */
  readonly withPeers: boolean;
  readonly programs: readonly Program[];
  readonly rows: readonly Row[];
};

const { node, floor, json, deltas, help, version, list } = programs;

const shortRun: Program = { ...json, name: "base-context, ten deltas", script: "text-10" };

const common = { usage: false, withPeers: false, runs: [20, 3] } as const;

export const cases: readonly Case[] = [
  {
    ...common,
    name: "short",
    title: "an answer of ten deltas, session saved",
    script: "text-10",
    withPeers: true,
    programs: [node, floor, json],
    rows: [
      {
        title: "session header on stdout",
        of: json,
        measure: "firstMs",
        against: { program: node, measure: "wholeMs", as: "ratio" },
        goal: 1.8,
      },
      { ...ratio("spawn to first request", json, "requestMs", floor), goal: 2.5 },
      { ...ratio("whole run", json, "wholeMs", floor), goal: 2.5 },
      { title: "body of the first request, bytes", of: json, measure: "requestBytes", goal: 7 * 1024 },
    ],
  },
  {
    ...common,
    name: "commands",
    title: "what needs no model",
    script: "text-1",
    programs: [node, help, version, list],
    rows: [help, version, list].map((of) => ({ ...ratio(of.name, of, "wholeMs", node), goal: 1.5 })),
  },
  {
    ...common,
    name: "memory",
    title: "peak memory of an answer of ten deltas",
    script: "text-10",
    usage: true,
    withPeers: true,
    programs: [floor, json],
    rows: [{ ...ratio("peak memory", json, "peakMb", floor), goal: 2 }],
  },
  {
    ...common,
    name: "deltas",
    title: "an answer of 5,000 deltas",
    script: "text-5000",
    runs: [12, 2],
    usage: true,
    withPeers: true,
    programs: [floor, deltas, json],
    rows: [
      { ...ratio("--json-deltas, whole run", deltas, "wholeMs", floor), goal: 2.5 },
      { ...ratio("--json-deltas, processor time", deltas, "cpuMs", floor), goal: 3 },
      { ...ratio("plain JSON, processor time to --json-deltas", json, "cpuMs", deltas), goal: 4 },
    ],
  },
  {
    ...common,
    name: "latency",
    title: "100 deltas, one each 10 ms",
    script: "paced-100",
    runs: [10, 1],
    programs: [floor, json],
    rows: [{ title: "delta to stdout, median ms", of: json, measure: "latencyMs", goal: 5 }],
  },
  {
    ...common,
    name: "tools",
    title: "50 turns with one `bash echo` each",
    script: "echo-50",
    runs: [10, 2],
    withPeers: true,
    programs: [floor, json],
    rows: [{ ...ratio("whole run", json, "wholeMs", floor), goal: 2 }],
  },
  {
    ...common,
    name: "turns",
    title: "500 turns with one `bash echo` each",
    script: "echo-500",
    runs: [10, 1],
    programs: [floor, json],
    rows: [
      {
        title: "a turn of the last 50 to one of the first 50",
        of: json,
        measure: "lastTurnsMs",
        against: { program: json, measure: "firstTurnsMs", as: "ratio" },
        goal: 1.5,
      },
    ],
  },
  {
    ...common,
    name: "results",
    title: "200 turns with a result of 50 KB each",
    script: "kilobytes-200",
    runs: [10, 1],
    usage: true,
    programs: [floor, shortRun, json],
    rows: [
      {
        title: "peak memory, more than with ten deltas",
        of: json,
        measure: "peakMb",
        against: { program: shortRun, measure: "peakMb", as: "difference" },
        goal: 60,
      },
    ],
  },
];

function ratio(title: string, of: Program, measure: keyof Sample, against: Program): Omit<Row, "goal"> {
  return { title, of, measure, against: { program: against, measure, as: "ratio" } };
}

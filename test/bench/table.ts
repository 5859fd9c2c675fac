import type { Case, Row } from "./cases.ts";
import { median, type Sample } from "./measure.ts";
import type { Program } from "./programs.ts";

/** A line of the table. */
export type ResultRow = {
  readonly title: string;
  /** The median, in `unit`. */
  readonly value: number;
  readonly unit: string;
  /** What the value is compared with, in `unit`. */
  readonly against?: number;
  /** What the goal limits: a ratio, a difference, or the value. */
  readonly result: number;
  readonly goal: number;
  readonly goalUnit: string;
};

/** What was found in one case. */
export type CaseResult = {
  readonly name: string;
  readonly title: string;
  /** The medians of every program. */
  readonly programs: readonly { readonly name: string; readonly runs: number; readonly medians: Sample }[];
  readonly rows: readonly ResultRow[];
};

/** Makes a case's result of the samples of its programs. */
export function toRows(each: Case, samples: ReadonlyMap<Program, readonly Sample[]>): CaseResult {
  const medians = new Map([...samples].map(([program, list]) => [program, toMedians(list)]));
  return {
    name: each.name,
    title: each.title,
    programs: [...medians].map(([{ name }, values]) => ({
      name,
      runs: each.programs.length === 0 ? 0 : (samples.values().next().value?.length ?? 0),
      medians: values,
    })),
    rows: each.rows.map((row) => toRow(row, medians)),
  };
}

function toMedians(samples: readonly Sample[]): Sample {
  const of = (measure: keyof Sample) => median(samples.map((sample) => sample[measure]));
  return {
    firstMs: of("firstMs"),
    wholeMs: of("wholeMs"),
    requestMs: of("requestMs"),
    requestBytes: of("requestBytes"),
    latencyMs: of("latencyMs"),
    firstTurnsMs: of("firstTurnsMs"),
    lastTurnsMs: of("lastTurnsMs"),
    cpuMs: of("cpuMs"),
    peakMb: of("peakMb"),
    outputMb: of("outputMb"),
  };
}

function toRow({ title, of, measure, against, goal }: Row, medians: ReadonlyMap<Program, Sample>): ResultRow {
  const value = medians.get(of)?.[measure] ?? Number.NaN;
  const unit = unitOf(measure);
  if (against === undefined) return { title, value, unit, result: value, goal, goalUnit: unit };
  const other = medians.get(against.program)?.[against.measure] ?? Number.NaN;
  return against.as === "ratio"
    ? { title, value, unit, against: other, result: value / other, goal, goalUnit: "x" }
    : { title, value, unit, against: other, result: value - other, goal, goalUnit: unit };
}

function unitOf(measure: keyof Sample): string {
  if (measure.endsWith("Ms")) return "ms";
  return measure.endsWith("Mb") ? "MB" : "bytes";
}

/** The results for people. */
export function toText(results: readonly CaseResult[]): string {
  return results.map(caseText).join("\n");
}

function caseText({ name, title, programs, rows }: CaseResult): string {
  const shown = programs.map(({ name, runs, medians }) => [
    name,
    ...measures.map(([measure, unit]) => show(medians[measure], unit)),
    `${runs} runs`,
  ]);
  const heads = ["", ...measures.map(([, , head]) => head), ""];
  const goals = rows.map(({ title, value, unit, against, result, goal, goalUnit }) => [
    title,
    show(value, unit),
    against === undefined ? "" : `to ${show(against, unit)}`,
    show(result, goalUnit),
    `goal ${show(goal, goalUnit)}`,
    result <= goal ? "met" : "MISSED",
  ]);
  const tables = [...(shown.length > 0 ? [align([heads, ...shown])] : []), align(goals)];
  return `${name}: ${title}\n${tables.join("\n")}`;
}

const measures: readonly (readonly [keyof Sample, string, string])[] = [
  ["firstMs", "ms", "first line"],
  ["requestMs", "ms", "request"],
  ["wholeMs", "ms", "whole"],
  ["cpuMs", "ms", "processor"],
  ["peakMb", "MB", "peak"],
  ["outputMb", "MB", "output"],
];

function show(value: number, unit: string): string {
  if (Number.isNaN(value)) return "-";
  if (unit === "x") return `${value.toFixed(2)} x`;
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${unit}`;
}

function align(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
  return rows.map((row) => `  ${line(row).join("  ")}\n`).join("");
}

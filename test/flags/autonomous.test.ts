import { expect, test } from "vitest";
import { StartupError } from "../../src/contract/errors.ts";
import { parseArguments } from "../../src/flags/flags.ts";
import { defaultFlags, type Flags } from "../../src/flags/options.ts";

const off = { enabled: false, gate: [] };
const on = { enabled: true, gate: [] };

test.each<[string[], Partial<Flags>]>([
  [[], { autonomous: off }],
  [["--autonomous"], { autonomous: on }],
  [
    ["--autonomous-gate", "npm test", "--autonomous-gate=npm run lint"],
    { autonomous: { enabled: true, gate: ["npm test", "npm run lint"] } },
  ],
  [["--autonomous-gate-retries", "2"], { autonomous: { ...on, gateRetries: 2 } }],
  [["--autonomous-gate-timeout-ms", "1500"], { autonomous: { ...on, gateTimeoutMs: 1500 } }],
  [["--autonomous-max-continuations", " 7 "], { autonomous: { ...on, maxContinuations: 7 } }],
  [["--autonomous-max-turns=1"], { autonomous: { ...on, maxTurns: 1 } }],
  [["--autonomous-max-tokens", "1000000"], { autonomous: { ...on, maxTokens: 1_000_000 } }],
  [["--autonomous-timeout-ms", "99999999999999"], { autonomous: { ...on, timeoutMs: 2 ** 31 - 1 } }],
  [["--goal", "all green"], { autonomous: off, goal: "all green" }],
  [["--goal", "g", "--goal-token-budget", "500"], { goal: "g", goalTokenBudget: 500 }],
  [["--max-cost", "0.25"], { autonomous: off, maxCost: 0.25 }],
  [["--output-schema", "s.json", "--summary", "out.json"], { outputSchema: "s.json", summary: "out.json" }],
])("%j", (argv, flags) => {
  expect(parseArguments(argv)).toEqual({
    kind: "run",
    flags: { ...defaultFlags(), ...flags },
    messages: [],
    files: [],
  });
});

const counts = [
  "--autonomous-gate-retries",
  "--autonomous-gate-timeout-ms",
  "--autonomous-max-continuations",
  "--autonomous-max-turns",
  "--autonomous-max-tokens",
  "--autonomous-timeout-ms",
  "--goal-token-budget",
];
const noCounts = ["0", "-1", "1.5", "1e3", "0x10", "abc", "3s", "Infinity", "NaN", "1 2", "1,000", "00"];

test.each(counts.flatMap((option) => noCounts.map((value) => [option, value] as const)))(
  "%s %s is refused",
  (option, value) => {
    expect(() => parseArguments([option, value, "hi"])).toThrow(
      new StartupError(`${option} is a positive whole number, not ${JSON.stringify(value)}`),
    );
  },
);

test.each([
  ["2.5", 2.5],
  [".5", 0.5],
  ["1e3", 1000],
  ["5e-05", 0.00005],
])("--max-cost %s is taken", (value, maxCost) => {
  expect(parseArguments(["--max-cost", value, "hi"])).toMatchObject({ flags: { maxCost } });
});

test.each(["0", "-1", "abc", "1e999", "0e5", "e5", "$5"])("--max-cost %s is refused", (value) => {
  expect(() => parseArguments(["--max-cost", value, "hi"])).toThrow(
    `--max-cost is a positive number, not ${JSON.stringify(value)}`,
  );
});

test.each([...counts, "--max-cost", "--autonomous-gate", "--goal", "--output-schema", "--summary"])(
  "%s without a value is refused",
  (option) => {
    expect(() => parseArguments([option, ""])).toThrow(`${option} needs a value that is not blank`);
    expect(() => parseArguments(["hi", option])).toThrow(`${option} needs a value`);
  },
);

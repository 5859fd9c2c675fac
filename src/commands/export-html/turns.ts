import type { SessionEntry } from "../../contract/entries.ts";
import { type SessionStep, toSteps } from "../session-steps.ts";
import { createTotals, type SessionTotals } from "../session-totals.ts";

/** What one turn, or several in a row, used. */
export type Turns = {
  /** Counted from 1. */
  readonly first: number;
  readonly last: number;
  /** The number of the step in the page. */
  readonly step: number;
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  /** US dollars. */
  readonly cost: number;
};

/** What stands above a transcript. */
export type Overview = {
  /** At most `maxBars`; in longer sessions each stands for several turns. */
  readonly turns: readonly Turns[];
  readonly turnCount: number;
  readonly totals: Pick<SessionTotals, "answers" | "summaries">;
  /** The beginning of the first prompt. */
  readonly firstPrompt: string | undefined;
};

/** Reads a session once for its overview. */
export function toOverview(entries: Iterable<SessionEntry>): Overview {
  const totals = createTotals();
  let firstPrompt: string | undefined;
  let turns: Turns[] = [];
  let turnCount = 0;
  let perBar = 1;
  let number = 0;
  for (const step of toSteps(entries)) {
    number++;
    totals.add(step.entry);
    firstPrompt ??= promptOf(step);
    if (step.kind !== "answer") continue;
    turnCount++;
    const last = turns.at(-1);
    if (last !== undefined && last.last - last.first + 1 < perBar)
      turns[turns.length - 1] = join(last, toTurn(step, turnCount, number));
    else turns.push(toTurn(step, turnCount, number));
    if (turns.length > maxBars) {
      perBar *= 2;
      turns = inPairs(turns);
    }
  }
  return { turns, turnCount, totals, firstPrompt };
}

/** More would be narrower than a pointer can hit. */
const maxBars = 100;
const maxPromptLength = 80;

function toTurn(
  { message: { usage } }: Extract<SessionStep, { kind: "answer" }>,
  turn: number,
  step: number,
): Turns {
  const { input, cacheRead, cacheWrite, output, cost } = usage;
  return { first: turn, last: turn, step, input, cacheRead, cacheWrite, output, cost: cost.total };
}

function inPairs(turns: readonly Turns[]): Turns[] {
  const pairs: Turns[] = [];
  for (let index = 0; index < turns.length; index += 2) {
    const [one, other] = turns.slice(index, index + 2);
    if (one !== undefined) pairs.push(other === undefined ? one : join(one, other));
  }
  return pairs;
}

function join(one: Turns, other: Turns): Turns {
  return {
    first: one.first,
    last: other.last,
    step: one.step,
    input: one.input + other.input,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    output: one.output + other.output,
    cost: one.cost + other.cost,
  };
}

function promptOf({ entry }: SessionStep): string | undefined {
  if (entry.type !== "message" || entry.message.role !== "user") return undefined;
  const { content } = entry.message;
  const text =
    typeof content === "string"
      ? content
      : content.map((block) => (block.type === "text" ? block.text : "")).join(" ");
  const line = text
    .slice(0, 4 * maxPromptLength)
    .replace(/\s+/g, " ")
    .trim();
  const characters = [...line];
  if (line === "") return undefined;
  return characters.length <= maxPromptLength ? line : `${characters.slice(0, maxPromptLength).join("")}…`;
}

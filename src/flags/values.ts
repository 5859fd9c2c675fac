import { StartupError } from "../contract/errors.ts";
import { maxTimerMs } from "../contract/timers.ts";

// Each reads the value of an option, which it names in the StartupError for a value that is not allowed.

/** One of a few words, in any case. */
export function oneOf<const Choice extends string>(
  option: string,
  choices: readonly Choice[],
  value: string,
): Choice {
  const wanted = value.trim().toLowerCase();
  const choice = choices.find((candidate) => candidate === wanted);
  if (choice === undefined) {
    throw new StartupError(`${option} is one of ${choices.join(", ")}, not ${JSON.stringify(value)}`);
  }
  return choice;
}

/** Names with commas between them; a repeated one counts once. */
export function commaList(option: string, value: string): string[] {
  const items = value.split(",").map((item) => item.trim());
  if (items.includes("")) {
    throw new StartupError(`${option} takes names with one comma between them, not ${JSON.stringify(value)}`);
  }
  return [...new Set(items)];
}

/** The name of an environment variable. */
export function variableName(option: string, value: string): string {
  const name = value.trim();
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    // What follows an equals sign may be a secret.
    const shown = JSON.stringify(name.replace(/=.*/s, "=..."));
    throw new StartupError(`${option} takes the name of an environment variable, not ${shown}`);
  }
  return name;
}

/** A time in milliseconds; one that is longer than a timer can wait is cut to that. */
export function milliseconds(option: string, value: string): number {
  return Math.min(Math.ceil(positiveNumber(option, value)), maxTimerMs);
}

/** A limit: a decimal number above 0, such as 2, .5 or what other programs write of it, 5e-05. */
export function positiveNumber(option: string, value: string): number {
  const text = value.trim();
  const number = /^\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (!(number > 0 && Number.isFinite(number))) {
    throw new StartupError(`${option} is a positive number, not ${JSON.stringify(value)}`);
  }
  return number;
}

/** A limit that counts: a whole number above 0. */
export function positiveWhole(option: string, value: string): number {
  const text = value.trim();
  const number = /^\+?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(number > 0 && Number.isFinite(number))) {
    throw new StartupError(`${option} is a positive whole number, not ${JSON.stringify(value)}`);
  }
  return number;
}

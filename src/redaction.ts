import { createRedactor } from "./providers/redact.ts";

/** The credentials of a run, which become known as it starts, and what takes them out of text. */
export type Redaction = {
  /** A live list. */
  readonly secrets: readonly string[];
  readonly redact: (text: string) => string;
  add(secrets: readonly string[]): void;
};

/** Starts with no credential known. */
export function createRedaction(): Redaction {
  const secrets: string[] = [];
  let redactor = createRedactor([]);
  return {
    secrets,
    redact: (text) => redactor(text),
    add(more) {
      secrets.push(...more);
      redactor = createRedactor(secrets);
    },
  };
}

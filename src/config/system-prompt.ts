import prose from "./system-prompt.md";

export type SystemPromptParts = {
  /** Replaces the prose that the program comes with. */
  readonly custom?: string | undefined;
  /** Comes after it. */
  readonly append?: string | undefined;
  /** Absolute; where the tools work. */
  readonly cwd: string;
  /** ISO 8601; only the day is told, so that the prompt stays the same over a session's turns. */
  readonly timestamp: string;
};

/** The system prompt: short, and the same for every request of a session, so that provider caches hold. */
export function systemPrompt({ custom, append, cwd, timestamp }: SystemPromptParts): string {
  const facts = `Working directory: ${cwd}\nDate: ${timestamp.slice(0, 10)}`;
  return [custom ?? prose, append, facts]
    .filter((part) => part !== undefined)
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}

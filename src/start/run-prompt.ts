import { expandPrompt, type PromptSources } from "../config/expand-prompt.ts";
import type { ClientPrompt } from "../runs/conversation.ts";
import type { Prompt } from "./input.ts";

/** Reads a prompt as the user gave it: the template or skill that it names, or a command of the session. */
export function toRunPrompt(
  { attached, text: said, literal, images }: Prompt,
  sources: PromptSources,
): ClientPrompt {
  const expanded = literal ? undefined : expandPrompt(said, sources);
  // What comes with text from elsewhere is meant for the model.
  if (expanded?.kind === "not_found" && attached === "" && images.length === 0)
    return { kind: "command", name: expanded.name, args: expanded.args };
  const meant = expanded?.kind === "prompt" ? expanded.text : said;
  const text = attached === "" || meant === "" ? attached + meant : `${attached}\n\n${meant}`;
  const content = images.length === 0 ? text : [{ type: "text" as const, text }, ...images];
  return { kind: "message", message: { role: "user", content, timestamp: Date.now() } };
}

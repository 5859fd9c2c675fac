import type { CompletionChunk, ContentPart, Said } from "./openai-completions-chunk.ts";

/** Knows what the deltas of a reply said, so that a message that tells all of it again adds only what is new. */
export type Retelling = {
  /** What a chunk's deltas say; the text of a choice beside the one that speaks is left out. */
  ofOneChoice(chunk: CompletionChunk): Said;
  /** Whether deltas said anything. */
  hasDeltas(): boolean;
  /** What of a message was not said yet; all of it where there were no deltas. */
  news(message: Said): Said;
};

export function createRetelling(): Retelling {
  const said = { text: "", thinking: "" };
  let refusal = "";
  let calls = 0;
  let details = 0;
  let speaker: number | undefined;

  const hasDeltas = () => said.text + said.thinking + refusal !== "" || calls + details > 0;

  /** The message's text where the deltas had none, or their text and more; else the deltas' holds. */
  function rest(kind: ContentPart["kind"], { parts }: Said): ContentPart[] {
    const whole = parts.map((part) => (part.kind === kind ? part.text : "")).join("");
    const text = whole.startsWith(said[kind]) ? whole.slice(said[kind].length) : "";
    return text === "" ? [] : [{ kind, text }];
  }

  return {
    ofOneChoice(chunk) {
      if (chunk.parts.length > 0) speaker ??= chunk.choice;
      const parts = chunk.choice === speaker ? chunk.parts : [];
      for (const { kind, text } of parts) said[kind] += text;
      refusal += chunk.refusal;
      calls += chunk.calls.length;
      details += chunk.reasoningDetails.length;
      return parts === chunk.parts ? chunk : { ...chunk, parts };
    },
    hasDeltas,
    news(message) {
      if (!hasDeltas()) return message;
      return {
        parts: [...rest("thinking", message), ...rest("text", message)],
        reasoningDetails: details > 0 ? [] : message.reasoningDetails,
        refusal: refusal === "" ? message.refusal : "",
        calls: message.calls,
      };
    },
  };
}

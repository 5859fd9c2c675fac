import type { CompletionChunk, ContentPart, Said } from "./chunk.ts";

/** Knows what the deltas of a reply said, so that a message that tells all of it again adds only what is new. */
export type Retelling = {
  /** What a chunk's deltas say; the text of a choice beside the one that speaks is left out. */
  ofOneChoice(chunk: CompletionChunk): Said;
  /** Whether deltas said anything. */
  hasDeltas(): boolean;
  /** What of a message was not said yet; all of it where there were no deltas. */
  news(message: Said): Said;
};

/** Makes the memory of one reply. */
export function createRetelling(): Retelling {
  const said = { text: createTextInPieces(), thinking: createTextInPieces() };
  let refusal = "";
  let calls = 0;
  let details = 0;
  let speaker: number | undefined;

  const hasDeltas = () => said.text.whole() + said.thinking.whole() + refusal !== "" || calls + details > 0;

  /** The message's text where the deltas had none, or their text and more; else the deltas' holds. */
  function rest(kind: ContentPart["kind"], { parts }: Said): ContentPart[] {
    const whole = parts.map((part) => (part.kind === kind ? part.text : "")).join("");
    const before = said[kind].whole();
    const text = whole.startsWith(before) ? whole.slice(before.length) : "";
    return text === "" ? [] : [{ kind, text }];
  }

  return {
    ofOneChoice(chunk) {
      if (chunk.parts.length > 0) speaker ??= chunk.choice;
      const parts = chunk.choice === speaker ? chunk.parts : [];
      for (const { kind, text } of parts) said[kind].add(text);
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

type TextInPieces = { add(piece: string): void; whole(): string };

const maxPieces = 512;

/** A text that grows by small pieces: to V8 each that is appended at once is an object for as long as the text lives. */
function createTextInPieces(): TextInPieces {
  let text = "";
  let pieces: string[] = [];

  function whole(): string {
    text += pieces.join("");
    pieces = [];
    return text;
  }

  return {
    add(piece) {
      pieces.push(piece);
      if (pieces.length === maxPieces) whole();
    },
    whole,
  };
}

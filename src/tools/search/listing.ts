import type { JsonObject } from "../../contract/json.ts";
import { createSpill, type SpillOptions } from "../shell/spill.ts";
import { cleanText, outputLimits, truncateHead } from "../truncate.ts";

/** Collects lines: the start for the model, all of them in a file when they are more than it sees. */
export type Listing = {
  add(line: string): void;
  isEmpty(): boolean;
  finish(): { readonly text: string; readonly details: JsonObject };
};

export type ListingOptions = SpillOptions & {
  /** Replaced by `[redacted]` wherever they appear. */
  readonly secrets: readonly string[];
};

export function createListing(options: ListingOptions): Listing {
  const spill = createSpill(options);
  let text = "";
  let lines = 0;
  let isCut = false;

  return {
    add(line) {
      let clean = `${cleanText(line)}\n`;
      for (const secret of options.secrets) {
        if (secret !== "" && clean.includes(secret)) clean = clean.replaceAll(secret, "[redacted]");
      }
      lines += 1;
      isCut =
        isCut ||
        lines > outputLimits.maxLines ||
        Buffer.byteLength(text) + clean.length > outputLimits.maxBytes;
      if (isCut) spill.write(() => text, clean);
      else text += clean;
    },
    isEmpty: () => lines === 0,
    finish() {
      spill.close();
      const shown = truncateHead(text);
      const body = shown.text.replace(/\n$/, "");
      if (!isCut) return { text: body, details: {} };
      return {
        text: `${body}\n\n[Output cut: shown are the first ${shown.shownLines} of ${lines} lines. ${spill.note()}]`,
        details: { truncated: true, totalLines: lines, ...spill.details() },
      };
    },
  };
}

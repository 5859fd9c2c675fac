/** A text that is put together from many small pieces. */
export type GrowingText = {
  append(piece: string): void;
  /** All of it so far. */
  whole(): string;
};

/**
 * Makes an empty text. V8 keeps what is appended as a tree of all its pieces, many times the size of the text, until
 * somebody reads it. Here a thousand pieces at most are a tree: then they are made one.
 */
export function createGrowingText(): GrowingText {
  let settled = "";
  let recent = "";
  let pieces = 0;

  function append(piece: string): void {
    recent += piece;
    if (++pieces < maxPieces) return;
    settled += flat(recent);
    recent = "";
    pieces = 0;
  }

  return { append, whole: () => settled + recent };
}

const maxPieces = 1000;

/** The same text in one piece: looking at a character is what makes it so. */
function flat(text: string): string {
  return Number.isNaN(text.charCodeAt(0)) ? "" : text;
}

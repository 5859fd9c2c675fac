/** A text with the differences evened out that models do not reproduce, and the way back to the original. */
export type EvenText = {
  readonly text: string;
  /** Where in the original the character at a place of the evened text starts. */
  startOf(place: number): number;
  /** Where in the original the character before a place of the evened text ends. */
  endOf(place: number): number;
};

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const replacement = 0xfffd;

/**
 * Evens out typographic quotes, dashes and spaces, CRLF, and blanks at the ends of lines (not at the end of the text);
 * what `read` shows as U+FFFD becomes U+FFFD. Takes 6 bytes of memory a character.
 */
export function evenOut(original: string): EvenText {
  const codes = new Uint16Array(original.length);
  const starts = new Uint32Array(original.length);
  let length = 0;
  let afterInk = 0;
  for (let at = 0; at < original.length; at += 1) {
    const code = plainCode(original, at);
    if (code === carriageReturn && original.charCodeAt(at + 1) === lineFeed) continue;
    if (code === lineFeed) length = afterInk;
    codes[length] = code;
    starts[length] = code === lineFeed && original.charCodeAt(at - 1) === carriageReturn ? at - 1 : at;
    length += 1;
    if (code !== space && code !== tab) afterInk = length;
  }
  const endOf = (place: number) => {
    if (place === 0) return 0;
    const start = starts[place - 1] ?? 0;
    const isCrLf = codes[place - 1] === lineFeed && original.charCodeAt(start) === carriageReturn;
    return start + (isCrLf ? 2 : 1);
  };
  return {
    text: Buffer.from(codes.buffer, 0, 2 * length).toString("utf16le"),
    startOf: (place) => starts[place] ?? original.length,
    endOf,
  };
}

const plain: ReadonlyMap<number, number> = new Map(
  [
    { look: "'", codes: "\u2018\u2019\u201A\u201B\u2032" },
    { look: '"', codes: "\u201C\u201D\u201E\u201F\u2033" },
    { look: "-", codes: "\u2010\u2011\u2012\u2013\u2014\u2015\u2212" },
    {
      look: " ",
      codes: "\u00A0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u202F\u205F\u3000",
    },
  ].flatMap(({ look, codes }) =>
    Array.from(codes, (code) => [code.charCodeAt(0), look.charCodeAt(0)] as const),
  ),
);

function plainCode(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= space && code < 0x7f) return code;
  if (code === tab || code === lineFeed || code === carriageReturn) return code;
  if (code < space || code === 0x7f) return replacement;
  if (code >= 0xd800 && code <= 0xdfff) return isPaired(text, at) ? code : replacement;
  return plain.get(code) ?? code;
}

function isPaired(text: string, at: number): boolean {
  const isHigh = text.charCodeAt(at) < 0xdc00;
  return (text.codePointAt(isHigh ? at : at - 1) ?? 0) > 0xffff;
}

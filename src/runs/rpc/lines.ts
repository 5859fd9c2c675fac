/** A line of a client's, or how it cannot be read. */
export type CommandLine =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "too_long" }
  | { readonly kind: "not_utf8" };

const lineFeed = 10;

/**
 * Splits what a client sends at LF and nothing else: U+2028 and CR are part of a line. Blank lines are left out, a last
 * line without LF counts. A line of more than `maxBytes` is skipped as it comes, so that memory stays bounded.
 */
export async function* readCommandLines(
  source: AsyncIterable<Uint8Array | string>,
  maxBytes: number,
): AsyncGenerator<CommandLine, void, undefined> {
  const line = createLine(maxBytes);
  for await (const piece of source) {
    const chunk = typeof piece === "string" ? Buffer.from(piece) : piece;
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      line.add(chunk.subarray(start, end));
      yield* line.take();
      start = end + 1;
    }
    line.add(chunk.subarray(start));
  }
  yield* line.take();
}

/** Collects one line after the other. */
function createLine(maxBytes: number) {
  let pieces: Uint8Array[] = [];
  let bytes = 0;

  function* take(): Generator<CommandLine, void, undefined> {
    const whole = Buffer.concat(pieces);
    const isTooLong = bytes > maxBytes;
    pieces = [];
    bytes = 0;
    if (isTooLong) {
      yield { kind: "too_long" };
      return;
    }
    const text = decode(whole);
    if (text === undefined) yield { kind: "not_utf8" };
    else if (text.trim() !== "") yield { kind: "line", text };
  }

  return {
    add(piece: Uint8Array): void {
      bytes += piece.length;
      if (bytes > maxBytes) pieces = [];
      else if (piece.length > 0) pieces.push(piece);
    },
    take,
  };
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** What a reply is made of, wherever it comes from. */
export type ReplyParts = {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  /** Names in lower case, each once. */
  readonly headers: ReadonlyMap<string, string>;
  /** Null for replies that have none. */
  readonly body: ReplyBody | null;
};

/** The bytes of a reply, for one reader. */
export type ReplyBody = AsyncIterableIterator<Uint8Array> & {
  /** Gives up the rest and lets the connection go. */
  return(): Promise<IteratorResult<Uint8Array>>;
  cancel(): Promise<void>;
};

/**
 * Makes what is asked of a `Response`. The global one is not used: its first touch costs as much as a short run, and its
 * streams cost more than the reply.
 */
export function toResponse(parts: ReplyParts): Response {
  const { status, statusText, url, body } = parts;
  const readAll = () => readBytes(body);
  const reply = {
    status,
    statusText,
    url,
    body,
    ok: status >= 200 && status < 300,
    headers: toHeaders(parts.headers),
    text: async () => new TextDecoder().decode(await readAll()),
    json: async () => JSON.parse(new TextDecoder().decode(await readAll())),
    arrayBuffer: async () => {
      const { buffer, byteOffset, byteLength } = await readAll();
      return buffer.slice(byteOffset, byteOffset + byteLength);
    },
  };
  // The parts of a Response that are asked for here and in tests, and no more.
  return reply as unknown as Response;
}

/**
 * Wraps bytes that a generator makes. `onReturn` runs at once when the reader gives up: the generator itself hears of it
 * only when what it waits for has come.
 */
export function toReplyBody(source: AsyncGenerator<Uint8Array>, onReturn?: () => void): ReplyBody {
  const body: ReplyBody = {
    next: () => source.next(),
    return: () => {
      onReturn?.();
      return source.return(undefined);
    },
    cancel: async () => void (await body.return()),
    [Symbol.asyncIterator]: () => body,
  };
  return body;
}

function toHeaders(values: ReadonlyMap<string, string>) {
  return {
    get: (name: string) => values.get(name.toLowerCase()) ?? null,
    has: (name: string) => values.has(name.toLowerCase()),
    entries: () => values.entries(),
  };
}

async function readBytes(body: ReplyBody | null): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}

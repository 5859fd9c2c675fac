import type { ProviderFetch } from "../adapter.ts";
import { toHttpError } from "../errors/http-error.ts";

/**
 * A fetch that throws a ProviderError for every reply that is not 2xx, its body read as far as it is worth reading.
 *
 * @param maxMs How long the body may take.
 */
export function withStatusCheck(fetch: ProviderFetch, provider: string, maxMs = defaultMaxMs): ProviderFetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.ok) return response;
    const { status, statusText } = response;
    const body = await readSome(response, maxMs);
    throw toHttpError({ status, statusText, header: (name) => response.headers.get(name), body, provider });
  };
}

const maxBytes = 64 * 1024;
export const defaultMaxMs = 5_000;

/** The start of the body; what comes too late, or breaks, is left out: the status alone says enough. */
async function readSome(response: Response, maxMs: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  const iterator = response.body?.[Symbol.asyncIterator]();
  const cancel = () => void iterator?.return?.().catch(() => undefined);
  const timer = setTimeout(cancel, maxMs);
  try {
    for (let bytes = 0; iterator !== undefined && bytes < maxBytes; ) {
      const result = await iterator.next();
      if (result.done) break;
      chunks.push(result.value);
      bytes += result.value.length;
    }
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
  } finally {
    clearTimeout(timer);
    cancel();
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

import { ProviderError } from "../contract/errors.ts";

/** A limit for such a step that the watch over a silent reply, where there is one, does not come before. */
export function withinIdle(limitMs: number, idleMs: number | undefined): number {
  return idleMs === undefined ? limitMs : Math.min(limitMs, idleMs / 2);
}

/**
 * The result of a step that a reply can do without; undefined when it takes too long or the stream breaks. `abandon` is
 * called when it takes too long: what is still waited for has to be broken off.
 */
export async function settleWithin<T>(
  result: Promise<T>,
  limitMs: number,
  abandon: () => void,
): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined);
      abandon();
    }, limitMs);
  });
  try {
    return await Promise.race([result, limit]);
  } catch (thrown) {
    if (thrown instanceof ProviderError) return undefined;
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

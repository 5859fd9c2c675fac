import type { ProviderFetch } from "./adapter.ts";

/** The fetch of one request, for an SDK that hides what went wrong. */
export type RequestFetch = {
  readonly fetch: ProviderFetch;
  /** What the SDK's call stands for: throws what our fetch threw, not what the SDK made of it. */
  settle<T>(call: Promise<T>): Promise<T>;
};

/**
 * Wraps our fetch for one request. The signal goes straight to it, so that an abort does not depend on the SDK, and a
 * failure comes back as it was thrown (SDKs turn what looks like a time-out into an error without a cause).
 */
export function createRequestFetch(fetch: ProviderFetch, signal: AbortSignal): RequestFetch {
  let failure: { readonly thrown: unknown } | undefined;
  return {
    async fetch(url, init) {
      try {
        return await fetch(url, { ...init, signal });
      } catch (thrown) {
        failure = { thrown };
        throw thrown;
      }
    },
    async settle(call) {
      try {
        return await call;
      } catch (thrown) {
        signal.throwIfAborted();
        throw failure === undefined ? thrown : failure.thrown;
      }
    },
  };
}

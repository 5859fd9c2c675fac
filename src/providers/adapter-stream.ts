import type { Provider, ProviderEvent, ProviderRequest } from "../contract/provider.ts";
import { toProviderError } from "./http-error.ts";

/** Asks for one reply and reads it. */
type Reply = (request: ProviderRequest, signal: AbortSignal) => AsyncGenerator<ProviderEvent>;

/** Makes a provider of what asks and reads: whatever that throws becomes a ProviderError, or the signal's reason. */
export function toProvider(reply: Reply): Provider {
  return {
    async *stream(request, signal) {
      signal.throwIfAborted();
      try {
        yield* reply(request, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        throw toProviderError(thrown, request.model.provider);
      }
    },
  };
}

import type { Provider, ProviderEvent, ProviderRequest } from "../contract/provider.ts";
import { toProviderError } from "./http-error.ts";
import { passOn } from "./pass-on.ts";

/** Asks for one reply; gives what reads it. */
type Reply = (
  request: ProviderRequest,
  signal: AbortSignal,
) => Promise<AsyncGenerator<ProviderEvent, void, undefined>>;

/** Makes a provider of what asks and reads: whatever that throws becomes a ProviderError, or the signal's reason. */
export function toProvider(reply: Reply): Provider {
  return {
    stream(request, signal) {
      const ask = async () => {
        signal.throwIfAborted();
        return reply(request, signal);
      };
      const toError = (thrown: unknown) =>
        signal.aborted ? signal.reason : toProviderError(thrown, request.model.provider);
      return passOn(ask, { toError });
    },
  };
}

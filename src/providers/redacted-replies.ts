import { ProviderError } from "../contract/errors.ts";
import type { Provider, ProviderEvent } from "../contract/provider.ts";
import { passOn } from "./pass-on.ts";
import { createErrorRedactor, createRedactor } from "./redact.ts";

/**
 * A provider in whose replies no credential stands in what comes whole: names, ids, signatures, errors. The pieces of
 * texts and arguments are left to whoever joins them.
 */
export function withRedactedReplies(provider: Provider, secrets: readonly string[]): Provider {
  const redact = createRedactor(secrets);
  const redactWords = createErrorRedactor(secrets);
  return {
    stream: (request, signal) =>
      passOn(() => provider.stream(request, signal), {
        toEvent: (event) => redactEvent(event, redact),
        toError: (thrown) => (thrown instanceof ProviderError ? redactError(thrown, redactWords) : thrown),
      }),
  };
}

function redactEvent(event: ProviderEvent, redact: (text: string) => string): ProviderEvent {
  switch (event.type) {
    case "meta": {
      const { responseId, responseModel } = event;
      return {
        ...event,
        ...(responseId !== undefined && { responseId: redact(responseId) }),
        ...(responseModel !== undefined && { responseModel: redact(responseModel) }),
      };
    }
    case "toolcall_start":
      return { ...event, id: redact(event.id), name: redact(event.name) };
    case "text_end":
    case "thinking_end":
    case "toolcall_end":
      return event.signature === undefined ? event : { ...event, signature: redact(event.signature) };
    case "end":
      return event.stopReasonRaw === undefined
        ? event
        : { ...event, stopReasonRaw: redact(event.stopReasonRaw) };
    default:
      return event;
  }
}

function redactError(error: ProviderError, redact: (text: string) => string): ProviderError {
  const { kind, status, code, stopReasonRaw, retryAfterMs, transient, cause } = error;
  return new ProviderError(kind, redact(error.message), {
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code: redact(code) }),
    ...(stopReasonRaw !== undefined && { stopReasonRaw: redact(stopReasonRaw) }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    transient,
    cause,
  });
}

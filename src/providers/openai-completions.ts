import type { CreateAdapter } from "./adapter.ts";
import { toProvider } from "./adapter-stream.ts";
import { toDeltas } from "./openai-completions-deltas.ts";
import { toParams } from "./openai-completions-params.ts";
import { sendOpenAIRequest } from "./openai-request.ts";
import { toRequestBody } from "./request-body.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Chat Completions API of OpenAI and of the many servers that copy it. */
export const createOpenAICompletions: CreateAdapter = ({ credentials, fetch }) =>
  toProvider(async (request, signal) => {
    const { model } = request;
    const own = new AbortController();
    const response = await sendOpenAIRequest(
      fetch,
      {
        model,
        path: "/chat/completions",
        apiKey: credentials.apiKey,
        body: toRequestBody(toParams(request), "messages"),
      },
      AbortSignal.any([signal, own.signal]),
    );
    const events = readServerEvents(response, model.provider);
    return toDeltas(events, { provider: model.provider, abandon: () => own.abort() });
  });

import type { CreateAdapter } from "./adapter.ts";
import { toProvider } from "./adapter-stream.ts";
import { sendOpenAIRequest } from "./openai-request.ts";
import { toDeltas } from "./openai-responses-deltas.ts";
import { toParams } from "./openai-responses-params.ts";
import { toRequestBody } from "./request-body.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Responses API of OpenAI and of those who copy it. */
export const createOpenAIResponses: CreateAdapter = ({ credentials, fetch }) =>
  toProvider(async (request, signal) => {
    const { model } = request;
    const own = new AbortController();
    const { apiKey } = credentials;
    const body = toRequestBody(toParams(request), "input");
    const response = await sendOpenAIRequest(
      fetch,
      { model, path: "/responses", apiKey, body },
      AbortSignal.any([signal, own.signal]),
    );
    const events = readServerEvents(response, model.provider);
    return toDeltas(events, { provider: model.provider, abandon: () => own.abort() });
  });

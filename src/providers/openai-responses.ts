import type { CreateAdapter } from "./adapter.ts";
import { toProvider } from "./adapter-stream.ts";
import { sendOpenAIRequest } from "./openai-request.ts";
import { toDeltas } from "./openai-responses-deltas.ts";
import { toParams } from "./openai-responses-params.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Responses API of OpenAI and of those who copy it. */
export const createOpenAIResponses: CreateAdapter = ({ credentials, fetch }) =>
  toProvider(async (request, signal) => {
    const { model } = request;
    const { apiKey } = credentials;
    const body = toParams(request);
    const response = await sendOpenAIRequest(fetch, { model, path: "/responses", apiKey, body }, signal);
    return toDeltas(readServerEvents(response, model.provider), model.provider);
  });

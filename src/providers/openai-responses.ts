import type { CreateAdapter } from "./adapter.ts";
import { toProviderError } from "./http-error.ts";
import { toDeltas } from "./openai-responses-deltas.ts";
import { toParams } from "./openai-responses-params.ts";
import { sendResponsesRequest } from "./openai-responses-request.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Responses API of OpenAI and of those who copy it. */
export const createOpenAIResponses: CreateAdapter = ({ credentials, fetch }) => ({
  async *stream(request, signal) {
    const { model } = request;
    const { apiKey } = credentials;
    signal.throwIfAborted();
    try {
      const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
      const response = await sendResponsesRequest(fetch, { model, headers, body: toParams(request) }, signal);
      yield* toDeltas(readServerEvents(response, model.provider), model.provider);
    } catch (thrown) {
      signal.throwIfAborted();
      throw toProviderError(thrown, model.provider);
    }
  },
});

import type { CreateAdapter } from "./adapter.ts";
import { toProvider } from "./adapter-stream.ts";
import { toDeltas } from "./openai-responses-deltas.ts";
import { toParams } from "./openai-responses-params.ts";
import { bearer, post } from "./post.ts";
import { toRequestBody } from "./request-body.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Responses API of OpenAI and of those who copy it. */
export const createOpenAIResponses: CreateAdapter = ({ credentials, fetch }) =>
  toProvider(async (request, signal) => {
    const { model } = request;
    const response = await post(
      fetch,
      model,
      {
        path: "/responses",
        headers: bearer(credentials.apiKey),
        body: toRequestBody(toParams(request), "input"),
      },
      signal,
    );
    return toDeltas(readServerEvents(response, model.provider), { provider: model.provider });
  });

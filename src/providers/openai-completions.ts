import type { CreateAdapter } from "./adapter.ts";
import { toProvider } from "./adapter-stream.ts";
import { toDeltas } from "./openai-completions-deltas.ts";
import { toParams } from "./openai-completions-params.ts";
import { bearer, post } from "./post.ts";
import { toRequestBody } from "./request-body.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Chat Completions API of OpenAI and of the many servers that copy it. */
export const createOpenAICompletions: CreateAdapter = ({ credentials, fetch }) =>
  toProvider(async (request, signal) => {
    const { model } = request;
    const response = await post(
      fetch,
      model,
      {
        path: "/chat/completions",
        headers: bearer(credentials.apiKey),
        body: toRequestBody(toParams(request), "messages"),
      },
      signal,
    );
    return toDeltas(readServerEvents(response, model.provider), { provider: model.provider });
  });

import type { JsonObject } from "../contract/json.ts";
import type { ProviderRequest } from "../contract/provider.ts";
import type { CreateAdapter } from "./adapter.ts";
import { toProvider } from "./adapter-stream.ts";
import { toDeltas } from "./anthropic-messages-deltas.ts";
import { toAnthropicHeaders } from "./anthropic-messages-headers.ts";
import { toParams } from "./anthropic-messages-params.ts";
import { post } from "./post.ts";
import { toRequestBody } from "./request-body.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Messages API of Anthropic and of those who copy it. */
export const createAnthropicMessages: CreateAdapter = ({ credentials, fetch }) =>
  toProvider(async (request, signal) => {
    const { model, outputSchema } = request;
    const asked = outputSchema === undefined ? request : await withStrictSchema(request, outputSchema);
    const response = await post(
      fetch,
      model,
      {
        path: "/v1/messages",
        headers: toAnthropicHeaders(model.baseUrl, credentials.apiKey),
        body: toRequestBody(toParams(asked), "messages"),
      },
      signal,
    );
    return toDeltas(readServerEvents(response, model.provider), model.provider);
  });

/** The API takes a subset of JSON Schema; what cannot be brought to it is left to the check of the answer. */
async function withStrictSchema(request: ProviderRequest, schema: JsonObject): Promise<ProviderRequest> {
  const { transformJSONSchema } = await import("@anthropic-ai/sdk/lib/transform-json-schema");
  try {
    const strict: JsonObject = transformJSONSchema(schema);
    return { ...request, outputSchema: strict };
  } catch {
    const { outputSchema: _, ...rest } = request;
    return rest;
  }
}

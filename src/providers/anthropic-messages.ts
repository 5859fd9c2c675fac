import type { JsonObject } from "../contract/json.ts";
import { toDeltas } from "./anthropic-messages-deltas.ts";
import { toAnthropicHeaders } from "./anthropic-messages-headers.ts";
import { toParams } from "./anthropic-messages-params.ts";
import { createAdapter } from "./create-adapter.ts";

/** Speaks the Messages API of Anthropic and of those who copy it. */
export const createAnthropicMessages = createAdapter({
  path: "/v1/messages",
  list: "messages",
  toHeaders: ({ apiKey }, { model }) => toAnthropicHeaders(model.baseUrl, apiKey),
  toParams,
  toSchema: toStrictSchema,
  toDeltas: (events, { provider }) => toDeltas(events, provider),
});

/** The API takes a subset of JSON Schema; what cannot be brought to it is left to the check of the answer. */
async function toStrictSchema(schema: JsonObject): Promise<JsonObject | undefined> {
  const { transformJSONSchema } = await import("@anthropic-ai/sdk/lib/transform-json-schema");
  try {
    return transformJSONSchema(schema);
  } catch {
    return undefined;
  }
}

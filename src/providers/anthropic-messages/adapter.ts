import type { JsonObject } from "../../contract/json.ts";
import { createAdapter } from "../create-adapter.ts";
import { toDeltas } from "./deltas.ts";
import { toAnthropicHeaders } from "./headers.ts";
import { toParams } from "./params.ts";

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

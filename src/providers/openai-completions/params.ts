import type { JsonObject } from "../../contract/json.ts";
import type { Model, ProviderRequest, ToolSchema } from "../../contract/provider.ts";
import { keepTools } from "../kept.ts";
import { isAnswerSchema } from "../openai-answer-schema.ts";
import { outputLimit } from "../output-limit.ts";
import { toMessages } from "./messages.ts";
import { toThinkingParams } from "./thinking.ts";

/** Makes the body of a Chat Completions request, with nothing in it that the model's server may not know. */
export function toParams(request: ProviderRequest): JsonObject {
  const { model, tools, outputSchema } = request;
  const { compat } = model;
  const sendsLimit = request.maxTokens !== undefined || compat.sendsMaxTokens;
  const maxTokens = sendsLimit ? outputLimit(request) : undefined;
  return {
    model: model.id,
    messages: toMessages(request.systemPrompt, request.messages, model),
    stream: true,
    ...(compat.supportsUsageInStreaming !== false && { stream_options: { include_usage: true } }),
    ...(maxTokens !== undefined && { [compat.maxTokensField ?? "max_tokens"]: maxTokens }),
    ...(compat.supportsStore && { store: false }),
    ...(model.provider === "openai" && { prompt_cache_key: request.sessionId }),
    ...(tools.length > 0 && {
      tools: keepTools(model, tools, () => tools.map((tool) => toTool(tool, model))),
    }),
    ...toThinkingParams(model, request.thinkingLevel),
    ...(outputSchema !== undefined && takesSchema(request, outputSchema) && toResponseFormat(outputSchema)),
  };
}

/** Providers that let a model call tools although its answer has to follow a schema. */
const schemaBesideTools: ReadonlySet<string> = new Set(["openai", "openrouter", "xai"]);
const noSchema: ReadonlySet<string> = new Set(["deepseek", "zai", "moonshotai"]);

function takesSchema({ model, tools }: ProviderRequest, schema: JsonObject): boolean {
  if (noSchema.has(model.provider) || !isAnswerSchema(schema)) return false;
  return tools.length === 0 || schemaBesideTools.has(model.provider);
}

function toResponseFormat(schema: JsonObject): JsonObject {
  return { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } };
}

function toTool({ name, description, parameters }: ToolSchema, model: Model): JsonObject {
  return {
    type: "function",
    function: {
      name,
      description,
      parameters,
      ...(model.compat.supportsStrictTools && { strict: false }),
    },
  };
}

import type { JsonObject } from "../../contract/json.ts";
import type { Compat, Model, ThinkingLevel } from "../../contract/provider.ts";

/** The request fields that ask for a thinking level. Empty where nothing can be asked for. */
export function toThinkingParams(model: Model, level: ThinkingLevel): JsonObject {
  if (!model.reasoning) return {};
  return formats[model.compat.thinkingFormat ?? "openai"](model, level);
}

type Format = (model: Model, level: ThinkingLevel) => JsonObject;

const formats: Readonly<Record<NonNullable<Compat["thinkingFormat"]>, Format>> = {
  openai: (model, level) => {
    const effort = model.compat.supportsReasoningEffort ? toEffort(model, level) : undefined;
    return effort === undefined ? {} : { reasoning_effort: effort };
  },
  openrouter: (model, level) => {
    const effort = toEffort(model, level);
    return { reasoning: effort === "none" ? { enabled: false } : { effort } };
  },
  zai: (_, level) => ({ thinking: { type: level === "off" ? "disabled" : "enabled" } }),
  qwen: (_, level) => ({ enable_thinking: level !== "off" }),
  deepseek: (model, level) => ({
    thinking: { type: level === "off" ? "disabled" : "enabled" },
    ...(level !== "off" &&
      model.compat.supportsReasoningEffort && { reasoning_effort: toEffort(model, level) }),
  }),
  none: () => ({}),
};

/** From none to most. Groq's `default` is the one way to let Qwen think. */
const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "default"] as const;
type Effort = (typeof efforts)[number];

/** The efforts that a family of models takes; the first row that matches `provider/id` counts. */
const families: readonly (readonly [RegExp, readonly Effort[]])[] = [
  [/^deepseek\//, ["none", "low", "high", "max"]],
  [/gpt-5[\d.]*-pro/, ["high"]],
  [/gpt-5\.1-codex-max|gpt-5\.[2-9]/, ["none", "low", "medium", "high", "xhigh"]],
  [/gpt-5\.1/, ["none", "low", "medium", "high"]],
  [/gpt-5-codex/, ["low", "medium", "high"]],
  [/gpt-5/, ["minimal", "low", "medium", "high"]],
  [/gpt-oss|\/o[1-9]/, ["low", "medium", "high"]],
  [/grok-3-mini/, ["low", "high"]],
  [/gemini-2\.5-pro|gemini-[3-9]/, ["low", "medium", "high"]],
  [/^groq\/.*qwen/, ["none", "default"]],
  [/^mistral\//, ["none", "high"]],
];
const commonEfforts: readonly Effort[] = ["none", "low", "medium", "high"];

/** The effort for a level: the nearest below that the model takes, else the nearest above. `off` is the least there is. */
function toEffort(model: Model, level: ThinkingLevel): Effort {
  const name = `${model.provider}/${model.id}`.toLowerCase();
  const taken = families.find(([pattern]) => pattern.test(name))?.[1] ?? commonEfforts;
  const [least = "none"] = taken;
  if (level === "off") return least;
  const wanted = efforts.indexOf(level);
  const thinking = taken.filter((effort) => effort !== "none");
  return thinking.findLast((effort) => efforts.indexOf(effort) <= wanted) ?? thinking[0] ?? least;
}

import type { JsonObject } from "../../contract/json.ts";
import type { Model, ThinkingLevel } from "../../contract/provider.ts";

/** What the API can be told, from least to most. Levels other than `off` have the same names. */
const ladder = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
type Effort = (typeof ladder)[number];

type Family = {
  readonly pattern: RegExp;
  /** The first version that the row holds for. */
  readonly from?: number;
  readonly efforts: readonly Effort[];
};

/** Which efforts OpenAI's models take; the first row that fits holds. */
const families: readonly Family[] = [
  { pattern: /gpt-.*-chat/, efforts: ["medium"] },
  { pattern: /gpt-.*-pro/, from: 5.2, efforts: ["medium", "high", "xhigh"] },
  { pattern: /gpt-.*-pro|^o\d-pro/, efforts: ["high"] },
  { pattern: /gpt-.*codex-max/, efforts: ["low", "medium", "high", "xhigh"] },
  { pattern: /gpt-.*codex/, from: 5.2, efforts: ["low", "medium", "high", "xhigh"] },
  { pattern: /codex|gpt-oss|(?:^|\/)o\d/, efforts: ["low", "medium", "high"] },
  { pattern: /gpt-\d/, from: 5.6, efforts: ["none", "low", "medium", "high", "xhigh", "max"] },
  { pattern: /gpt-\d/, from: 5.2, efforts: ["none", "low", "medium", "high", "xhigh"] },
  { pattern: /gpt-\d/, from: 5.1, efforts: ["none", "low", "medium", "high"] },
  { pattern: /gpt-\d/, from: 5, efforts: ["minimal", "low", "medium", "high"] },
];

const unknownEfforts: readonly Effort[] = ["low", "medium", "high"];

/**
 * Translates a thinking level to the nearest effort that the model takes and that is not more than was asked for.
 * `off` is `none` where there is such a thing, else the least there is. Gives undefined when nothing may be sent: the
 * model does not reason, or nothing is known of how to keep it from reasoning.
 */
export function toReasoning(model: Model, level: ThinkingLevel): JsonObject | undefined {
  const { supportsReasoningEffort, thinkingFormat } = model.compat;
  if (!model.reasoning || supportsReasoningEffort === false || thinkingFormat === "none") return undefined;
  const known = findEfforts(model.id);
  if (level === "off") return known?.[0] === undefined ? undefined : { effort: known[0] };
  const efforts = (known ?? unknownEfforts).filter((effort) => effort !== "none");
  const rank = ladder.indexOf(level);
  const effort = efforts.findLast((candidate) => ladder.indexOf(candidate) <= rank) ?? efforts[0];
  return effort === undefined ? undefined : { effort, summary: "auto" };
}

function findEfforts(id: string): readonly Effort[] | undefined {
  const version = Number(/gpt-(\d+(?:\.\d+)?)/.exec(id)?.[1] ?? 0);
  return families.find(({ pattern, from = 0 }) => pattern.test(id) && version >= from)?.efforts;
}

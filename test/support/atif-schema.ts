import * as z from "zod";

// The Agent Trajectory Interchange Format, version 1.7, as its specification describes it.

const extra = z.record(z.string(), z.unknown()).optional();
const integer = z.number().int().nonnegative();
const contentPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({
    type: z.literal("image"),
    source: z.strictObject({
      media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
      path: z.string().min(1),
    }),
  }),
]);
const content = z.union([z.string(), z.array(contentPart)]);
const observation = z.strictObject({
  results: z.array(
    z.strictObject({ source_call_id: z.string().optional(), content: content.optional(), extra }),
  ),
});
const common = {
  step_id: z.number().int().positive(),
  timestamp: z.iso.datetime().optional(),
  message: content,
  observation: observation.optional(),
  extra,
};
const step = z.discriminatedUnion("source", [
  z.strictObject({ ...common, source: z.enum(["system", "user"]) }),
  z.strictObject({
    ...common,
    source: z.literal("agent"),
    model_name: z.string().optional(),
    reasoning_effort: z.union([z.string(), z.number()]).optional(),
    reasoning_content: z.string().optional(),
    tool_calls: z
      .array(
        z.strictObject({
          tool_call_id: z.string().min(1),
          function_name: z.string().min(1),
          arguments: z.record(z.string(), z.unknown()),
          extra,
        }),
      )
      .optional(),
    metrics: z
      .strictObject({
        prompt_tokens: integer.optional(),
        completion_tokens: integer.optional(),
        cached_tokens: integer.optional(),
        cost_usd: z.number().nonnegative().optional(),
        extra,
      })
      .optional(),
  }),
]);

/** A trajectory: its fields, and the rules that hold between them. */
export const atifSchema = z
  .strictObject({
    schema_version: z.literal("ATIF-v1.7"),
    session_id: z.string().min(1),
    agent: z.strictObject({
      name: z.string().min(1),
      version: z.string().min(1),
      model_name: z.string().optional(),
      extra,
    }),
    steps: z.array(step).min(1),
    notes: z.string().optional(),
    final_metrics: z
      .strictObject({
        total_prompt_tokens: integer.optional(),
        total_completion_tokens: integer.optional(),
        total_cached_tokens: integer.optional(),
        total_cost_usd: z.number().nonnegative().optional(),
        total_steps: integer.optional(),
        extra,
      })
      .optional(),
    extra,
  })
  .superRefine(({ steps, final_metrics: totals }, context) => {
    const broken = (message: string) => context.addIssue({ code: "custom", message });
    for (const [index, step] of steps.entries()) {
      if (step.step_id !== index + 1) broken(`step ${index + 1} has the id ${step.step_id}`);
      const calls = step.source === "agent" ? (step.tool_calls ?? []) : [];
      const known = new Set(calls.map(({ tool_call_id }) => tool_call_id));
      for (const { source_call_id: id } of step.observation?.results ?? [])
        if (id !== undefined && !known.has(id)) broken(`step ${step.step_id} has a result of ${id}`);
    }
    const metrics = steps.flatMap((step) => (step.source === "agent" ? (step.metrics ?? []) : []));
    const sum = (key: "prompt_tokens" | "completion_tokens" | "cached_tokens") =>
      metrics.reduce((total, each) => total + (each[key] ?? 0), 0);
    if (totals?.total_steps !== steps.length) broken("total_steps is not the number of steps");
    for (const key of ["prompt_tokens", "completion_tokens", "cached_tokens"] as const)
      if (totals?.[`total_${key}`] !== sum(key)) broken(`total_${key} is not the sum of the steps'`);
  });

/** A trajectory that was checked. */
export type AtifTrajectory = z.infer<typeof atifSchema>;

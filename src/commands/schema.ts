/**
 * Prints the JSON Schema (draft 2020-12) of a line of the event stream.
 * Gives the exit status.
 */
export async function schemaCommand(
  { deltas }: { readonly deltas: boolean },
  write: (text: string) => void,
): Promise<number> {
  const { z } = await import("zod");
  const { deltaStreamLineSchema, schemaParts, streamLineSchema } = await import("../contract/schema.ts");
  const names = z.registry<{ id?: string; title?: string; description?: string }>();
  for (const [id, part] of Object.entries(schemaParts)) names.add(part, { id });
  const root = deltas ? deltaStreamLineSchema : streamLineSchema;
  names.add(root, {
    title: deltas ? "A line of base-context --mode json --json-deltas" : "A line of base-context --mode json",
  });
  write(
    `${JSON.stringify(z.toJSONSchema(root, { target: "draft-2020-12", metadata: names, io: "input" }), null, 2)}\n`,
  );
  return 0;
}

import { defineTool } from "./define-tool.ts";
import description from "./ls.md";

const defaultLimit = 500;

/** Lists folders. */
export const lsTool = defineTool({
  name: "ls",
  description,
  parameters: {
    type: "object",
    properties: {
      path: { type: "string", description: "Default: the working folder" },
      limit: { type: "integer", minimum: 1, description: `Entries, default ${defaultLimit}` },
    },
  },
  readOnly: true,
  async run(args, context) {
    const { listForModel } = await import("./list-folder.ts");
    return listForModel({ path: args.path || ".", limit: args.limit ?? defaultLimit }, context);
  },
});

import type { Tool } from "../contract/tool.ts";
import { defineTool } from "./define-tool.ts";
import description from "./ls.md";
import type { ListingOptions } from "./search/listing.ts";

export type ListOptions = Omit<ListingOptions, "toolName">;

const defaultLimit = 500;

/** Makes the tool that lists folders. */
export function createLsTool(options: ListOptions): Tool {
  return defineTool({
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
      const { listForModel } = await import("./search/list-folder.ts");
      return listForModel({ path: args.path || ".", limit: args.limit ?? defaultLimit }, context, options);
    },
  });
}

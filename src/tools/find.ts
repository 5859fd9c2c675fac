import type { Tool } from "../contract/tool.ts";
import { defineTool } from "./define-tool.ts";
import description from "./find.md";
import type { SearchOptions } from "./grep.ts";

/** Makes the tool that finds files by name. */
export function createFindTool(options: SearchOptions): Tool {
  return defineTool({
    name: "find",
    description,
    parameters: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, description: "Glob: *.ts, src/**/*.md, {a,b}*.json" },
        path: { type: "string", minLength: 1, description: "Folder to search; default: the working folder" },
        limit: { type: "integer", minimum: 1, description: "Paths to return. Default 1000" },
      },
      required: ["pattern"],
    },
    readOnly: true,
    async run(args, context) {
      const { findForModel } = await import("./search/find-files.ts");
      return findForModel(args, context, options);
    },
  });
}

import type { Tool } from "../contract/tool.ts";
import type { ProcessToolOptions } from "./bash.ts";
import { defineTool } from "./define-tool.ts";
import description from "./grep.md";

export type SearchOptions = ProcessToolOptions & {
  /** Finds the ripgrep program; undefined means the plain search in this process. */
  readonly findRipgrep?: () => Promise<string | undefined>;
};

/** Makes the tool that searches the contents of files. */
export function createGrepTool(options: SearchOptions): Tool {
  return defineTool({
    name: "grep",
    description,
    parameters: {
      type: "object",
      properties: {
        pattern: {
          type: "string",
          minLength: 1,
          description: "Regular expression, or plain text with `literal`",
        },
        path: { type: "string", minLength: 1, description: "File or folder; default: the working folder" },
        glob: {
          type: "string",
          minLength: 1,
          description: "Only files like this: *.ts, src/**/*.md, !*.test.ts",
        },
        ignoreCase: { type: "boolean", description: "Default false" },
        literal: { type: "boolean", description: "The pattern is plain text. Default false" },
        context: { type: "integer", minimum: 0, description: "Lines to show around each match. Default 0" },
        limit: { type: "integer", minimum: 1, description: "Matching lines to return. Default 100" },
      },
      required: ["pattern"],
    },
    readOnly: true,
    async run(args, context) {
      const { grepForModel } = await import("./search/grep-files.ts");
      return grepForModel(args, context, options);
    },
  });
}

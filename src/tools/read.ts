import type { Tool } from "../contract/tool.ts";
import { defineTool } from "./define-tool.ts";
import description from "./read.md";

/** What happens to images that the model reads. */
export type ImageOptions = {
  /** Make images that are too large for providers smaller, instead of refusing them. */
  readonly autoResize: boolean;
  /** Describe images in words and never send them. */
  readonly block: boolean;
};

/** Makes the tool that shows files to the model. */
export function createReadTool(images: ImageOptions): Tool {
  return defineTool({
    name: "read",
    description,
    parameters: {
      type: "object",
      properties: {
        path: {
          type: "string",
          minLength: 1,
          description: "Relative to the working folder, absolute, or ~/...",
        },
        offset: { type: "integer", minimum: 1, description: "First line, from 1" },
        limit: { type: "integer", minimum: 1, description: "Number of lines" },
      },
      required: ["path"],
    },
    readOnly: true,
    async run(args, context) {
      const { readForModel } = await import("./files/read-file.ts");
      return readForModel({ ...args, images }, context);
    },
  });
}

import { defineTool } from "./define-tool.ts";
import description from "./write.md";

/** Writes whole files. */
export const writeTool = defineTool({
  name: "write",
  description,
  parameters: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1 },
      content: { type: "string" },
    },
    required: ["path", "content"],
  },
  readOnly: false,
  async run(args, context) {
    const { writeForModel } = await import("./files/write-file.ts");
    return writeForModel(args, context);
  },
});

import { defineTool } from "./define-tool.ts";
import description from "./edit.md";

/** Replaces pieces of text files. */
export const editTool = defineTool({
  name: "edit",
  description,
  parameters: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1 },
      edits: {
        type: "array",
        items: {
          type: "object",
          properties: { oldText: { type: "string" }, newText: { type: "string" } },
          required: ["oldText", "newText"],
        },
      },
      oldText: { type: "string", description: "For a single edit, instead of edits" },
      newText: { type: "string" },
    },
    required: ["path"],
  },
  readOnly: false,
  async run({ path, edits = [], oldText, newText }, context) {
    const { editForModel } = await import("./files/edit-file.ts");
    return editForModel({ path, edits, oldText, newText }, context);
  },
});

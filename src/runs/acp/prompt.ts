import { fileURLToPath } from "node:url";
import type * as acp from "@agentclientprotocol/sdk";
import type { ImageContent } from "../../contract/messages.ts";
import { isImage } from "../rpc/command.ts";

/** A prompt of an editor, as the session takes it. `problem`: it holds something that cannot be said to a model. */
export type EditorPrompt =
  | { readonly ok: true; readonly text: string; readonly images: readonly ImageContent[] }
  | { readonly ok: false; readonly problem: string };

/**
 * Puts the blocks of a prompt together: the contents that the editor embeds come first, as `@file` arguments do, then
 * the text, in which links stand where they stood.
 */
export function toPrompt(blocks: readonly acp.ContentBlock[]): EditorPrompt {
  const attached: string[] = [];
  const images: ImageContent[] = [];
  let said = "";
  let followsLink = false;
  for (const block of blocks) {
    switch (block.type) {
      case "text":
        // A word that follows a link is no part of its path.
        said += followsLink && /^[\p{L}\p{N}/]/u.test(block.text) ? ` ${block.text}` : block.text;
        break;
      case "image":
        images.push({ type: "image", data: block.data, mimeType: block.mimeType });
        break;
      case "resource_link":
        said += spaceBeforeLink(said) + toPath(block.uri);
        break;
      case "resource": {
        const { resource } = block;
        const path = toPath(resource.uri);
        said += spaceBeforeLink(said) + path;
        if ("text" in resource)
          attached.push(`<file name="${path}">\n${resource.text.replace(/\n$/, "")}\n</file>`);
        else if (resource.mimeType?.startsWith("image/") === true)
          images.push({ type: "image", data: resource.blob, mimeType: resource.mimeType });
        break;
      }
      case "audio":
        return {
          ok: false,
          problem: "audio cannot be sent to a model; send text, links, resources and images",
        };
    }
    followsLink = block.type === "resource_link" || block.type === "resource";
  }
  if (!images.every(isImage))
    return {
      ok: false,
      problem: "an image of the prompt is not one in base64, or its type is not image/...",
    };
  const text = [...attached, said].filter((part) => part.trim() !== "").join("\n\n");
  if (text === "" && images.length === 0) return { ok: false, problem: "the prompt is empty" };
  return { ok: true, text, images };
}

/** A path that ran into what stands in front of it would be another one. */
function spaceBeforeLink(said: string): string {
  return said === "" || /[\s([{<"'`@]$/.test(said) ? "" : " ";
}

/** A file's path says more to the tools than its address. */
function toPath(uri: string): string {
  if (!uri.startsWith("file:")) return uri;
  try {
    return fileURLToPath(uri);
  } catch {
    return uri;
  }
}

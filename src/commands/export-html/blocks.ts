import type { ImageContent, UserContent } from "../../contract/messages.ts";
import { dataUrl } from "../data-url.ts";
import { escapeHtml, type Html } from "./escape.ts";
import type { Highlight } from "./highlight.ts";
import type { RenderMarkdown } from "./markdown.ts";

/** What turns text into HTML. */
export type Renderers = { readonly highlight: Highlight; readonly markdown: RenderMarkdown };

/** Text as it was typed. */
export function plain(text: string): Html {
  return text.trim() === "" ? "" : `<div class="plain">${escapeHtml(text)}</div>`;
}

/** What a program printed. */
export function output(text: string, code: Html = escapeHtml(text)): Html {
  return text.trim() === "" ? `<p class="note">(nothing)</p>` : `<pre><code>${code}</code></pre>`;
}

/** Something folded under one line. */
export function folded(kind: string, summary: Html, content: Html): Html {
  return `<details class="${kind}"><summary>${summary}</summary><div class="inside">${content}</div></details>`;
}

/** Content as it was typed, with its images. */
export function content(
  blocks: string | readonly UserContent[],
  text: (words: string) => Html = plain,
): Html {
  if (typeof blocks === "string") return text(blocks);
  return blocks.map((block) => (block.type === "text" ? text(block.text) : image(block))).join("");
}

function image(block: ImageContent): Html {
  const url = dataUrl(block);
  const type = escapeHtml(block.mimeType);
  return url === undefined
    ? `<p class="note">(an image, ${type})</p>`
    : `<img src="${escapeHtml(url)}" alt="an image, ${type}">`;
}

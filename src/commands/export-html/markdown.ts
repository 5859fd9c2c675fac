import MarkdownIt from "markdown-it";
import type { Html } from "./escape.ts";
import { readable } from "./escape.ts";
import type { Highlight } from "./highlight.ts";

/** Renders what a model wrote. */
export type RenderMarkdown = (text: string) => Html;

/**
 * Makes a renderer that takes Markdown and nothing else: HTML in the text is shown as text, images are links, and links
 * lead to the web or a mailbox only.
 */
export function createMarkdown(highlight: Highlight): RenderMarkdown {
  const parser = new MarkdownIt({ html: false, linkify: false, highlight });
  // What defines a reference would vanish from the text.
  parser.disable(["image", "reference"]);
  parser.validateLink = (url) => /^(https?:|mailto:)/i.test(url);
  parser.core.ruler.push("page_rules", ({ tokens }) => {
    for (const token of tokens) {
      adapt(token);
      for (const child of token.children ?? []) adapt(child);
    }
  });
  return (text) => parser.render(readable(text));
}

type Token = ReturnType<MarkdownIt["parse"]>[number];

/** The page has headings of its own, no style attributes, and nothing to tell to where its links lead. */
function adapt(token: Token): void {
  if (token.type === "heading_open" || token.type === "heading_close")
    token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + 3)}`;
  if (token.type === "link_open") token.attrSet("rel", "noopener noreferrer");
  const alignment = /^text-align:(\w+)$/.exec(token.attrGet("style") ?? "")?.[1];
  if (alignment === undefined) return;
  token.attrs = null;
  token.attrSet("class", `align-${alignment}`);
}

/** HTML that is safe to put into a page. Only the functions of the HTML export make it. */
export type Html = string;

/** Text as HTML, for element content and for quoted attribute values alike. */
export function escapeHtml(text: string): Html {
  return readable(text).replace(/[&<>"']/g, (char) => entities[char] ?? char);
}

/** Text without colour codes, and with a visible sign for every control character that is left. */
export function readable(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(colourCodes, "")
    .replace(controls, (char) =>
      char === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + char.charCodeAt(0)),
    )
    .replace(/[\u0080-\u009f]|\p{Cs}/gu, "\ufffd");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const colourCodes = /\u001b\[[0-9;]*[A-Za-z]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

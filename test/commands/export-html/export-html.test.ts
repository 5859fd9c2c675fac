import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ExportSource } from "../../../src/commands/export-formats.ts";
import { escapeHtml } from "../../../src/commands/export-html/escape.ts";
import { toHtml } from "../../../src/commands/export-html/export-html.ts";
import { createHighlight, languageOf } from "../../../src/commands/export-html/highlight.ts";
import { createMarkdown } from "../../../src/commands/export-html/markdown.ts";
import { clock, count, dollars, shortCount } from "../../../src/commands/export-html/numbers.ts";
import { toOverview } from "../../../src/commands/export-html/turns.ts";
import type { NewEntry } from "../../../src/contract/entries.ts";
import type { AssistantContent } from "../../../src/contract/messages.ts";
import { assistant, chain, message, result, text, user } from "../../session/samples.ts";

const header = { type: "session", version: 3, id: "id-1", timestamp: "", cwd: "/work" } as const;

function page(entries: readonly NewEntry[], fields: Partial<ExportSource> = {}): string {
  const placed = chain(entries);
  return [...toHtml({ header, settings: {}, entries: () => placed, ...fields })].join("");
}

/** What is left of a page without the text between its tags. */
function tagsOf(html: string): string[] {
  return html.replace(/<(style|script)>[\s\S]*?<\/\1>/g, "").match(/<[^>]*>/g) ?? [];
}

test("no text of a session makes a tag or an attribute of the page", () => {
  const hostile = fc
    .array(
      fc.constantFrom("<", ">", "&", '"', "'", "=", "/", "-", "!", "script", "on", "a", " ", "`", "\n", "["),
    )
    .map((parts) => parts.join(""));
  // The same page with harmless words has the same tags, but for those that Markdown is turned into.
  const markdown =
    /^<\/?(p|code|pre|em|strong|ul|ol|li|hr|h4|h5|h6|blockquote|br|div|s)( class="(hljs-\w+|prose|language-[^"<>]*)")?>$/;
  fc.assert(
    fc.property(hostile, (words) => {
      const entries = (said: string): NewEntry[] => {
        const call: AssistantContent = {
          type: "toolCall",
          id: "1",
          name: `t${said}`,
          arguments: { path: said, [said]: said },
        };
        return [
          message(user(`u${said}`)),
          message(
            assistant([{ type: "thinking", thinking: `t${said}` }, call], {
              model: said,
              stopReason: "error",
              errorMessage: `e${said}`,
            }),
          ),
          message({ ...result("1", `r${said}`), toolName: `t${said}` }),
          message(assistant([text(`a${said}`)])),
        ];
      };
      const settings = { name: words };
      const left = (html: string) =>
        tagsOf(html).filter((tag) => !markdown.test(tag) && !/^<\/?(span|a class="time")/.test(tag));
      expect(left(page(entries(words), { settings }))).toEqual(
        left(page(entries("x"), { settings: { name: "x" } })),
      );
    }),
    { numRuns: 100 },
  );
});

test("a page without turns has no chart, and is called after the session", () => {
  const html = page([message(user("hi"))]);
  expect(html).not.toContain("<svg");
  expect(html).toContain("<title>hi</title>");
  expect(page([])).toContain("<title>Session id-1</title>");
});

test("control characters are shown, colours are left out", () => {
  expect(escapeHtml("\u001b[1;31mred\u001b[0m\r\n\u0000\u0007\t\u007f\u0085\ud83d\ud83d\ude00")).toBe(
    "red\n␀␇\t␡\ufffd\ufffd😀",
  );
});

describe("Markdown", () => {
  const render = createMarkdown(createHighlight());

  test.each([
    ["# One", "<h4>One</h4>\n"],
    ["<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"],
    ["[a](https://b.c)", '<p><a href="https://b.c" rel="noopener noreferrer">a</a></p>\n'],
    ["[a](mailto:a@b.c)", '<p><a href="mailto:a@b.c" rel="noopener noreferrer">a</a></p>\n'],
    ["[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>\n"],
    ["[a](file:///etc/passwd)", "<p>[a](file:///etc/passwd)</p>\n"],
    ["[a](data:text/html,x)", "<p>[a](data:text/html,x)</p>\n"],
    ["<javascript:alert(1)>", "<p>&lt;javascript:alert(1)&gt;</p>\n"],
    ["![a](https://b.c/d.png)", '<p>!<a href="https://b.c/d.png" rel="noopener noreferrer">a</a></p>\n'],
    ["[a]: https://b.c", "<p>[a]: https://b.c</p>\n"],
    [
      "```json\n1\n```",
      '<pre><code class="language-json"><span class="hljs-number">1</span>\n</code></pre>\n',
    ],
    ["```none\n<1>\n```", '<pre><code class="language-none">&lt;1&gt;\n</code></pre>\n'],
  ])("%j", (markdown, html) => {
    expect(render(markdown)).toBe(html);
  });

  test("tables are aligned by classes, which the page's policy allows", () => {
    expect(render("|a|b|\n|-:|:-:|\n|1|2|")).toContain(
      '<td class="align-right">1</td>\n<td class="align-center">2</td>',
    );
  });
});

test("code that is long is left as it is", () => {
  const highlight = createHighlight();
  expect(highlight("const a", "ts")).toBe('<span class="hljs-keyword">const</span> a');
  expect(highlight("const a <", "constructor")).toBe("const a &lt;");
  expect(highlight("const a;".repeat(20_000), "ts")).not.toContain("<");
});

test("so is what comes late in a page with much code", () => {
  const highlight = createHighlight(10);
  const shown = ["x = 1", "x = 12", "y = 1", "z"].map((code) => highlight(code, "ini").includes("<span"));
  expect(shown).toEqual([true, false, true, false]);
});

test.each([
  ["src/a.test.ts", "ts"],
  ["/a.b/Makefile", "makefile"],
  ["Dockerfile.dev", "dockerfile"],
  ["README", undefined],
  [".gitignore", "gitignore"],
])("%s is %s", (path, language) => {
  expect(languageOf(path)).toBe(language);
});

test("numbers read well", () => {
  expect([count(1234.4), shortCount(1234), shortCount(20_000), shortCount(2.5e6)]).toEqual([
    "1,234",
    "1.2K",
    "20K",
    "2.5M",
  ]);
  expect([0, 12.345, 1, 0.0123, 0.00001234].map(dollars)).toEqual([
    "$0",
    "$12.35",
    "$1.00",
    "$0.012",
    "$0.000012",
  ]);
  expect([clock("2024-01-02T03:04:05.678Z"), clock("yesterday")]).toEqual([
    "2024-01-02 03:04:05",
    "yesterday",
  ]);
});

test("a chart of any length has at most a hundred bars, and loses nothing", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1000), { maxLength: 700, size: "max" }), (inputs) => {
      const entries = inputs.map((input) =>
        message(
          assistant([], {
            usage: {
              input,
              output: 1,
              cacheRead: 2,
              cacheWrite: 3,
              totalTokens: input + 6,
              cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
            },
          }),
        ),
      );
      const { turns, turnCount, totals } = toOverview(chain([message(user("hi")), ...entries]));
      expect(turns.length).toBeLessThanOrEqual(100);
      expect(turnCount).toBe(inputs.length);
      expect(turns.reduce((sum, { input }) => sum + input, 0)).toBe(totals.answers.input);
      // Bars follow one another without a gap, each at the step of its first turn.
      let next = 1;
      for (const { first, last, step } of turns) {
        expect([first, step]).toEqual([next, next + 1]);
        next = last + 1;
      }
      expect(next).toBe(inputs.length + 1);
    }),
    { numRuns: 50 },
  );
});

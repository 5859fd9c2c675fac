import { createHash } from "node:crypto";
import type { ExportSource } from "../export-formats.ts";
import { toSteps } from "../session-steps.ts";
import { chartHtml } from "./chart.ts";
import { escapeHtml, type Html } from "./escape.ts";
import { createHighlight } from "./highlight.ts";
import { createMarkdown } from "./markdown.ts";
import { clock, count, dollars } from "./numbers.ts";
import style from "./page.css.txt";
import script from "./page.js.txt";
import { stepHtml } from "./step.ts";
import { type Overview, toOverview } from "./turns.ts";

/**
 * Writes a session as one page that needs nothing else: no network, and scripts for the search only. Text of the session
 * is never markup in it.
 */
export function* toHtml(source: ExportSource): Generator<string, void, undefined> {
  const overview = toOverview(source.entries());
  const highlight = createHighlight();
  const renderers = { highlight, markdown: createMarkdown(highlight) };
  yield headHtml(source, overview);
  let number = 0;
  for (const step of toSteps(source.entries())) yield stepHtml(step, ++number, renderers);
  yield `</main>
<p id="nothing" hidden>Nothing in this session holds these words.</p>
<script>${script}</script>
</body>
</html>
`;
}

function headHtml({ header, settings }: ExportSource, overview: Overview): Html {
  const title = escapeHtml(settings.name ?? overview.firstPrompt ?? `Session ${header.id}`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="base-context">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<header class="page">
<h1>${title}</h1>
${factsHtml({ header, settings }, overview)}
</header>
${chartHtml(overview.turns)}<search id="tools" hidden>
<input type="search" id="query" placeholder="Search this session" aria-label="Search this session" autocomplete="off" spellcheck="false">
<output id="found" for="query"></output>
<button type="button" id="fold" aria-pressed="false">Unfold all</button>
</search>
<main>
<h2 class="unseen">Transcript</h2>
`;
}

function factsHtml(
  { header, settings }: Pick<ExportSource, "header" | "settings">,
  { turnCount, totals: { answers, summaries } }: Overview,
): Html {
  const input = answers.input + answers.cacheRead + answers.cacheWrite;
  const cost = answers.cost.total + summaries.cost.total;
  const rows: readonly (readonly [name: string, value: string])[] = [
    ["Session", header.id],
    ["Begun", Number.isNaN(Date.parse(header.timestamp)) ? "" : `${clock(header.timestamp)} UTC`],
    ["Directory", header.cwd],
    ["Forked from", header.parentSession ?? ""],
    ["Model", settings.model === undefined ? "" : `${settings.model.provider}/${settings.model.modelId}`],
    ["Turns", count(turnCount)],
    ["Tokens", answers.totalTokens === 0 ? "" : `${count(input)} in, ${count(answers.output)} out`],
    ["Summaries", summaries.totalTokens === 0 ? "" : `${count(summaries.totalTokens)} tokens`],
    ["Cost", cost === 0 ? "" : dollars(cost)],
  ];
  const shown = rows.filter(([, value]) => value !== "");
  return `<dl class="facts">${shown.map(([name, value]) => `<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`).join("")}</dl>`;
}

/** Lets the page's own style and script in, images that are in the page, and nothing else. */
function policy(): string {
  return [
    "default-src 'none'",
    `style-src '${hash(style)}'`,
    `script-src '${hash(script)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function hash(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

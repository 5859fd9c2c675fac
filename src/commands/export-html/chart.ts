import type { Html } from "./escape.ts";
import { count, dollars, shortCount } from "./numbers.ts";
import type { Turns } from "./turns.ts";

/** Tokens and costs of the turns, as a drawing and as a table. Empty where nothing was counted. */
export function chartHtml(turns: readonly Turns[]): Html {
  const panels = [tokenPanel, costPanel].filter(({ series }) =>
    turns.some((turn) => series.some(({ key }) => turn[key] > 0)),
  );
  if (panels.length === 0) return "";
  return `<section class="chart" aria-labelledby="usage"><h2 id="usage">Tokens and cost of each turn</h2>
${panels.map((panel) => panelHtml(panel, turns)).join("\n")}
${tableHtml(turns)}
</section>
`;
}

type Series = {
  readonly key: "input" | "cacheRead" | "cacheWrite" | "output" | "cost";
  readonly name: string;
};

type Panel = {
  readonly title: string;
  readonly height: number;
  /** Bottom to top. */
  readonly series: readonly Series[];
  readonly label: (value: number) => string;
};

const tokenPanel: Panel = {
  title: "Tokens",
  height: 130,
  series: [
    { key: "cacheRead", name: "read from the cache" },
    { key: "cacheWrite", name: "written to the cache" },
    { key: "input", name: "other input" },
    { key: "output", name: "output" },
  ],
  label: shortCount,
};
const costPanel: Panel = {
  title: "Cost",
  height: 70,
  series: [{ key: "cost", name: "US dollars" }],
  label: dollars,
};

const width = 720;
const gutter = 56;
const top = 10;
const bottom = 18;
const maxBarWidth = 36;

function panelHtml(panel: Panel, turns: readonly Turns[]): Html {
  const { title, height, series, label } = panel;
  const used = series.filter(({ key }) => turns.some((turn) => turn[key] > 0));
  const legend = used.map(({ key, name }) => `<li><span class="swatch ${key}"></span>${name}</li>`).join("");
  const max = roundUp(Math.max(...turns.map((turn) => sum(turn, series))));
  const y = (value: number) => top + height - (value / max) * height;
  const lines = [0, max / 2, max].map(
    (value) =>
      `<line class="grid" x1="${gutter}" x2="${width}" y1="${fixed(y(value))}" y2="${fixed(y(value))}"/><text x="${gutter - 8}" y="${fixed(y(value) + 4)}" text-anchor="end">${label(value)}</text>`,
  );
  const step = (width - gutter) / turns.length;
  const bars = turns.map((turn, index) => {
    const barWidth = Math.min(maxBarWidth, step * 0.75);
    const x = gutter + index * step + (step - barWidth) / 2;
    return `<a href="#e${turn.step}" tabindex="-1"><title>${describe(turn)}</title><rect class="hit" x="${fixed(gutter + index * step)}" y="${top}" width="${fixed(step)}" height="${height}"/>${stack(turn, used, { x, barWidth, y })}</a>`;
  });
  const end = `${top + height + 14}`;
  const names = [turns[0], ...(turns.length > 1 ? [turns.at(-1)] : [])].map((turn, index) => {
    const at = index === 0 ? gutter + step / 2 : width - step / 2;
    return turn === undefined
      ? ""
      : `<text x="${fixed(at)}" y="${end}" text-anchor="middle">${range(turn)}</text>`;
  });
  return `<figure><figcaption>${title}<ul class="legend">${legend}</ul></figcaption>
<div class="scroll"><svg viewBox="0 0 ${width} ${top + height + bottom}" role="img" aria-label="${title} of ${turns.length} bars; the table below has the numbers">${lines.join("")}${bars.join("")}${names.join("")}</svg></div></figure>`;
}

type Bar = { readonly x: number; readonly barWidth: number; readonly y: (value: number) => number };

function stack(turn: Turns, series: readonly Series[], { x, barWidth, y }: Bar): Html {
  let below = 0;
  return series
    .map(({ key }) => {
      const value = turn[key];
      const upper = y(below + value);
      const height = y(below) - upper;
      below += value;
      return value === 0
        ? ""
        : `<rect class="${key}" x="${fixed(x)}" y="${fixed(upper)}" width="${fixed(barWidth)}" height="${fixed(Math.max(height, 0.5))}"/>`;
    })
    .join("");
}

function tableHtml(turns: readonly Turns[]): Html {
  const rows = turns.map(
    (turn) =>
      `<tr><th scope="row"><a href="#e${turn.step}">${range(turn)}</a></th><td>${count(turn.input)}</td><td>${count(turn.cacheRead)}</td><td>${count(turn.cacheWrite)}</td><td>${count(turn.output)}</td><td>${dollars(turn.cost)}</td></tr>`,
  );
  return `<details class="turns"><summary>As a table</summary><div class="scroll"><table><thead><tr><th scope="col">Turn</th><th scope="col">Input</th><th scope="col">Cache read</th><th scope="col">Cache write</th><th scope="col">Output</th><th scope="col">Cost</th></tr></thead><tbody>${rows.join("\n")}</tbody></table></div></details>`;
}

function describe(turn: Turns): string {
  const { first, last, input, cacheRead, cacheWrite, output, cost } = turn;
  const total = input + cacheRead + cacheWrite;
  const cached = cacheRead > 0 ? ` (${count(cacheRead)} cached)` : "";
  const price = cost > 0 ? `, ${dollars(cost)}` : "";
  return `Turn${first === last ? "" : "s"} ${range(turn)}: ${count(total)} in${cached}, ${count(output)} out${price}`;
}

function range({ first, last }: Turns): string {
  return first === last ? `${first}` : `${first}–${last}`;
}

function sum(turn: Turns, series: readonly Series[]): number {
  return series.reduce((total, { key }) => total + turn[key], 0);
}

/** The next number that reads well, and so does its half. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8].find((factor) => factor * power >= value) ?? 10) * power;
}

function fixed(value: number): string {
  return String(Number(value.toFixed(2)));
}

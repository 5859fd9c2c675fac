import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { NewEntry } from "../../src/contract/entries.ts";
import type { AssistantContent, Usage } from "../../src/contract/messages.ts";
import { assistant, message, result, text, user } from "../session/samples.ts";
import { hasBrowser, openPage, type PageOptions, type TestPage } from "../support/browser.ts";
import { runCli } from "../support/run-cli.ts";
import { saveSession } from "../support/saved-session.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const workspaces: Workspace[] = [];

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

/** Saves a session, exports it with the program, and opens the page. */
async function open(entries: readonly NewEntry[], options: PageOptions = {}): Promise<TestPage> {
  const workspace = createWorkspace();
  workspaces.push(workspace);
  const { id } = saveSession(workspace, entries);
  const { status, stdout, stderr } = await runCli(["export", id, "--output", "page.html"], { workspace });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
  return openPage(join(workspace.cwd, "page.html"), options);
}

const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'><svg/onload=alert(3)>\${1}&lt;</style></title><!--`;
/** One pixel. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function toolCall(id: string, name: string, args: Record<string, string>): AssistantContent {
  return { type: "toolCall", id, name, arguments: args };
}

function usage(input: number, output: number, total: number): Usage {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total };
  return { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output, cost };
}

const work: readonly NewEntry[] = [
  { type: "session_info", name: "Add numbers" },
  message(user("Add numbers, please")),
  message(
    assistant([text("On **it**"), toolCall("1", "bash", { command: "echo needle | wc" })], {
      usage: usage(1000, 50, 0.01),
      stopReason: "toolUse",
    }),
  ),
  message(result("1", "1 1 7 haystack")),
  message(
    assistant([text("Done:\n\n```ts\nconst sum = (a: number) => a + 1;\n```")], {
      usage: usage(2000, 80, 0.02),
    }),
  ),
];

describe.skipIf(!hasBrowser)("a session as a page", () => {
  test("shows who said what, with tool calls folded and code coloured", async () => {
    const { page, surprises } = await open(work);
    expect(await page.title()).toBe("Add numbers");
    expect(await page.locator("article h3").allTextContents()).toEqual(["User", "Assistant", "Assistant"]);
    expect(await page.locator("article.user .plain").textContent()).toBe("Add numbers, please");
    expect(await page.locator(".prose strong").textContent()).toBe("it");
    expect(await page.locator("details.call summary").textContent()).toBe("bash echo needle | wc ok");
    expect(await page.getByText("1 1 7 haystack").isVisible()).toBe(false);
    await page.locator("details.call summary").click();
    expect(await page.getByText("1 1 7 haystack").isVisible()).toBe(true);
    const keyword = page.locator(".prose .hljs-keyword", { hasText: "const" });
    const colours = await keyword.evaluate((element) => [
      getComputedStyle(element).color,
      getComputedStyle(element.closest("pre") ?? element).color,
    ]);
    expect(colours[0]).not.toBe(colours[1]);
    expect(surprises).toEqual([]);
  });

  test("draws tokens and costs of each turn, and has them as a table", async () => {
    const { page } = await open(work);
    expect(await page.locator("svg").count()).toBe(2);
    expect(await page.locator("svg title").allTextContents()).toEqual([
      "Turn 1: 1,000 in, 50 out, $0.01",
      "Turn 2: 2,000 in, 80 out, $0.02",
      "Turn 1: 1,000 in, 50 out, $0.01",
      "Turn 2: 2,000 in, 80 out, $0.02",
    ]);
    const heights = await page
      .locator("svg rect.input")
      .evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute("height"))));
    expect((heights[1] ?? 0) / (heights[0] ?? 1)).toBeCloseTo(2);
    expect(await page.locator(".turns tbody tr").allTextContents()).toEqual([
      "11,0000050$0.01",
      "22,0000080$0.02",
    ]);
    await page.locator("svg a").nth(1).click();
    await expect.poll(() => page.url()).toMatch(/#e4$/);
  });

  test("searches: leaves the entries that match, unfolds what holds the words, counts, and goes back", async () => {
    const { page, surprises } = await open(work);
    const search = page.getByRole("searchbox", { name: "Search this session" });
    await search.fill("HAYSTACK");
    await expect.poll(() => page.locator("#found").textContent()).toBe("1 of 3");
    expect(await page.locator("article:visible").count()).toBe(1);
    expect(await page.getByText("1 1 7 haystack").isVisible()).toBe(true);
    await search.press("Enter");
    expect(await page.evaluate("CSS.highlights.get('current').size")).toBe(1);
    await search.fill("nowhere to be found");
    await expect.poll(() => page.getByText("Nothing in this session").isVisible()).toBe(true);
    await search.press("Escape");
    await expect.poll(() => page.locator("article:visible").count()).toBe(3);
    expect(await page.getByText("1 1 7 haystack").isVisible()).toBe(false);
    // Words that run over the borders of coloured pieces.
    await search.fill("const sum = (a");
    await expect.poll(() => page.locator("#found").textContent()).toBe("1 of 3");
    expect(await page.evaluate("[...CSS.highlights.get('found')].map(String)")).toEqual(["const sum = (a"]);
    expect(surprises).toEqual([]);
  });

  test("unfolds and folds all", async () => {
    const { page } = await open(work);
    await page.getByRole("button", { name: "Unfold all" }).click();
    expect(await page.getByText("1 1 7 haystack").isVisible()).toBe(true);
    await page.getByRole("button", { name: "Fold all" }).click();
    expect(await page.getByText("1 1 7 haystack").isVisible()).toBe(false);
  });

  test("is light or dark as the reader likes it", async () => {
    const brightness: number[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await open(work, { colorScheme });
      const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      brightness.push((colour.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0));
    }
    expect(brightness[0]).toBeGreaterThan(600);
    expect(brightness[1]).toBeLessThan(150);
  });

  test("is read without scripts, too", async () => {
    const { page } = await open(work, { scripts: false });
    expect(await page.locator("article:visible").count()).toBe(3);
    expect(await page.getByRole("searchbox").count()).toBe(0);
    await page.locator("details.call summary").click();
    expect(await page.getByText("1 1 7 haystack").isVisible()).toBe(true);
  });

  test("shows markup in what was said as text, wherever it stands", async () => {
    const entries: NewEntry[] = [
      { type: "session_info", name: hostile },
      { type: "model_change", provider: hostile, modelId: hostile },
      message(user(hostile)),
      message({
        role: "user",
        content: [
          { type: "image", mimeType: "image/svg+xml", data: "PHN2Zz4=" },
          { type: "image", mimeType: 'image/png" onerror="alert(4)', data: png },
          { type: "image", mimeType: "image/png", data: `x" onerror="alert(5)` },
          { type: "image", mimeType: "image/png", data: png },
        ],
        timestamp: 1,
      }),
      message(
        assistant(
          [
            { type: "thinking", thinking: hostile },
            text(hostile),
            text(`[link](javascript:alert(6)) ![image](https://example.com/x.png) \`${hostile}\``),
            text(`\`\`\`html" onclick="alert(7)\n${hostile}\n\`\`\``),
            ...["bash", "read", "write", "edit", "constructor", hostile].map((name, index) =>
              toolCall(`c${index}`, name, {
                command: hostile,
                path: `${hostile}.html`,
                content: hostile,
                oldText: hostile,
                newText: hostile,
                [hostile]: hostile,
              }),
            ),
          ],
          { model: hostile, stopReason: "error", errorMessage: hostile },
        ),
      ),
      message({ ...result("c0", hostile), toolName: hostile }),
      message({ ...result("c1", hostile), toolName: "read" }),
      message({ ...result("none", hostile), toolName: hostile }),
      { type: "custom_message", customType: hostile, content: hostile, display: true },
      { type: "compaction", summary: hostile, firstKeptEntryId: hostile, tokensBefore: 1 },
      { type: "label", targetId: hostile, label: hostile },
    ];
    const { page, surprises } = await open(entries);
    const facts = await page.evaluate(() => ({
      scripts: document.scripts.length,
      handlers: [...document.querySelectorAll("*")].flatMap((element) =>
        [...element.attributes].filter(({ name }) => /^(on|style$)/.test(name)).map(({ name }) => name),
      ),
      links: [...document.querySelectorAll("main a[href]:not([href^='#'])")].map((link) =>
        link.getAttribute("href"),
      ),
      images: [...document.images].map((image) => [image.src.slice(0, 15), image.naturalWidth]),
    }));
    expect(facts).toEqual({
      scripts: 1,
      handlers: [],
      links: ["https://example.com/x.png"],
      images: [["data:image/png;", 1]],
    });
    expect(await page.title()).toBe(hostile);
    const shown = (await page.locator("body").textContent()) ?? "";
    expect(shown.split("<script>alert(1)</script>").length).toBeGreaterThan(40);
    expect(await page.locator("article.user .plain").first().textContent()).toBe(hostile);
    await page.getByRole("button", { name: "Unfold all" }).click();
    await page.mouse.move(300, 300);
    expect(surprises).toEqual([]);
  });

  test("keeps scripts and requests out even where markup got in", async () => {
    let requests = 0;
    const server = createServer((_, response) => {
      requests++;
      response.end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { page, surprises } = await open(work);
    await page.evaluate((url) => {
      const holder = document.createElement("div");
      holder.innerHTML = `<img src="${url}"><img src="data:," onerror="alert(1)">`;
      document.body.append(holder);
      const script = document.createElement("script");
      script.textContent = "alert(2)";
      document.body.append(script);
      fetch(url).catch(() => undefined);
    }, `http://127.0.0.1:${port}/`);
    const refused = () => surprises.filter((line) => /^console: .*Content Security Policy/.test(line)).length;
    await expect.poll(refused).toBeGreaterThanOrEqual(4);
    expect(surprises.filter((line) => !/^(console|request)/.test(line))).toEqual([]);
    expect(requests).toBe(0);
    server.close();
  });
});

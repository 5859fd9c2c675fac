import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll } from "vitest";

const executablePath = "/usr/bin/chromium";
const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Whether there is a browser to test with. */
export const hasBrowser = existsSync(executablePath);

if (!hasBrowser) console.warn(`tests of pages are skipped: ${executablePath} is missing`);

const contexts: { readonly context: BrowserContext; readonly scripts: boolean; readonly profile: string }[] =
  [];

afterAll(async () => {
  for (const { context, profile } of contexts.splice(0)) {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
});

/** A page, and what should never happen on it. */
export type TestPage = {
  readonly page: Page;
  /** Dialogs, errors, messages of the console, and requests that leave the page. */
  readonly surprises: readonly string[];
};

export type PageOptions = {
  readonly colorScheme?: "light" | "dark";
  /** Whether scripts run; by default they do. */
  readonly scripts?: boolean;
};

/** Opens a file in a browser with an empty profile, which lasts until the end of the test file. */
export async function openPage(
  path: string,
  { colorScheme = "light", scripts = true }: PageOptions = {},
): Promise<TestPage> {
  const page = await (await browserContext(scripts)).newPage();
  await page.emulateMedia({ colorScheme });
  const surprises: string[] = [];
  page.on("dialog", (dialog) => {
    surprises.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => surprises.push(`error: ${error.message}`));
  page.on("console", (message) => surprises.push(`console: ${message.text()}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith("data:") && !url.startsWith("file:")) surprises.push(`request: ${url}`);
  });
  await page.goto(`file://${path}`);
  return { page, surprises };
}

async function browserContext(scripts: boolean): Promise<BrowserContext> {
  const open = contexts.find((each) => each.scripts === scripts);
  if (open !== undefined) return open.context;
  const profile = mkdtempSync(join(tmpdir(), "browser-profile-"));
  const options = { executablePath, args, headless: true, javaScriptEnabled: scripts };
  const context = await chromium.launchPersistentContext(profile, options);
  contexts.push({ context, scripts, profile });
  return context;
}

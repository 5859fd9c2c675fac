import { spawn } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { type ProviderServer, startProvider } from "../support/provider-server.ts";
import { responsesReply } from "../support/responses-wire.ts";
import { cliPath } from "../support/run-cli.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** A block of shell, and how it has to end. */
type Example = { readonly line: number; readonly script: string; readonly status: number };

let copy: string;
let server: ProviderServer;

beforeAll(async () => {
  server = await startProvider([
    ({ url }) => (url.includes("responses") ? responsesReply({ text: "done" }) : chatReply({ text: "done" })),
  ]);
  copy = copyOfRepository();
});

afterAll(async () => {
  await server.close();
  rmSync(copy, { recursive: true, force: true });
});

const examples = pages.flatMap((page) => examplesOf(page).map((example) => ({ page, ...example })));

test.each(examples)(
  "the commands of $page, line $line, end as the page says",
  async ({ script, status }) => {
    expect(await runExample(script)).toEqual({ status, output: expect.any(String) });
  },
  120_000,
);

test("there are examples to run", () => {
  expect(examples.length).toBeGreaterThan(8);
});

/** The blocks of a page whose language is `sh`; the words behind that may say `status=N`. */
function examplesOf(page: string): Example[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/^```sh(?: status=(\d+))?\n(.*?)^```/gms)].map((found) => ({
    line: text.slice(0, found.index).split("\n").length,
    status: Number(found[1] ?? 0),
    script: found[2] ?? "",
  }));
}

/** Runs a block as a reader would, who has set up a provider and installed the command. */
function runExample(script: string): Promise<{ status: number | null; output: string }> {
  const home = mkdtempSync(join(copy, "home-"));
  const settings = join(home, ".base-context");
  mkdirSync(settings);
  writeFileSync(join(settings, "settings.json"), JSON.stringify({ defaultModel: "fake/m" }));
  writeFileSync(
    join(settings, "models.json"),
    JSON.stringify({
      providers: {
        fake: { baseUrl: `${server.url}/v1`, api: "openai-completions", apiKey: "k", models: [{ id: "m" }] },
      },
    }),
  );
  const child = spawn("bash", ["-ec", script], {
    cwd: copy,
    env: {
      PATH: `${join(copy, "bin")}:${process.env.PATH}`,
      HOME: home,
      TMPDIR: home,
      OPENAI_API_KEY: "test-key",
      OPENAI_BASE_URL: `${server.url}/v1`,
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 110_000,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  return new Promise((resolve) => child.on("close", (status) => resolve({ status, output })));
}

/** What a clone holds, with the program built, and the command on a path. */
function copyOfRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), "base-context-docs-"));
  const files = [
    "docs",
    "src",
    "test/support",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "README.md",
  ];
  for (const file of files)
    cpSync(join(root, file), join(folder, file), { recursive: true, preserveTimestamps: true });
  cpSync(dirname(cliPath), join(folder, "dist"), { recursive: true, preserveTimestamps: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  mkdirSync(join(folder, "bin"));
  symlinkSync("../dist/cli.js", join(folder, "bin", "base-context"));
  return folder;
}

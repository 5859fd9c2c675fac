import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Api } from "../../src/contract/messages.ts";

/** A throw-away home folder and working directory. */
export type Workspace = {
  /** `$BASE_CONTEXT_HOME`. */
  readonly home: string;
  readonly cwd: string;
  /** Writes a file, given relative to the working directory, with its folders. */
  file(path: string, content: string | Uint8Array): string;
  /** Writes a file of the home folder. */
  homeFile(path: string, content: string | object): string;
  remove(): void;
};

/** Makes a workspace; with a server's URL, also a `models.json` with the model `fake/m` there. */
export function createWorkspace(provider?: ProviderSetup): Workspace {
  const root = mkdtempSync(join(tmpdir(), "base-context-"));
  const home = join(root, "home");
  const cwd = join(root, "work");
  mkdirSync(home);
  mkdirSync(cwd);
  const workspace: Workspace = {
    home,
    cwd,
    file: (path, content) => write(join(cwd, path), content),
    homeFile: (path, content) =>
      write(join(home, path), typeof content === "string" ? content : JSON.stringify(content, null, 2)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
  if (provider !== undefined) workspace.homeFile("models.json", modelsFile(provider));
  return workspace;
}

export type ProviderSetup = {
  readonly url: string;
  readonly api?: Api;
  readonly apiKey?: string;
  readonly model?: Record<string, unknown>;
  readonly provider?: Record<string, unknown>;
};

/** What an SDK takes as its base URL: only the OpenAI ones want the `/v1`. */
export function baseUrl(url: string, api: Api): string {
  return api === "anthropic-messages" ? url : `${url}/v1`;
}

function modelsFile({
  url,
  api = "openai-completions",
  apiKey = "test-key-12345678",
  model,
  provider,
}: ProviderSetup) {
  return {
    providers: {
      fake: {
        baseUrl: baseUrl(url, api),
        api,
        apiKey,
        models: [{ id: "m", ...model }],
        ...provider,
      },
    },
  };
}

function write(path: string, content: string | Uint8Array): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

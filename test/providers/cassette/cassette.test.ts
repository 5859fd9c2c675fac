import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PersistenceError, ProviderError, StartupError } from "../../../src/contract/errors.ts";
import type { Model } from "../../../src/contract/provider.ts";
import type { ProviderFetch } from "../../../src/providers/adapter.ts";
import { createRecorder, openCassette } from "../../../src/providers/cassette/cassette.ts";
import { createFetch } from "../../../src/providers/http/fetch.ts";
import { toReplyBody, toResponse } from "../../../src/providers/http/reply.ts";
import { serve } from "../../support/loopback.ts";

const model: Model = {
  id: "m",
  name: "M",
  provider: "acme",
  api: "openai-completions",
  baseUrl: "http://127.0.0.1:9/v1",
  reasoning: true,
  input: ["text", "image"],
  contextWindow: 1000,
  maxTokens: 100,
  cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0 },
  headers: {},
  compat: { maxTokensField: "max_tokens", supportsStore: false },
};
const key = "sk-secret-123456";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "cassette-"));
  path = join(folder, "run.cassette.jsonl");
});
afterEach(() => rm(folder, { recursive: true }));

type Seen = {
  status?: number;
  statusText?: string;
  headers?: Record<string, string>;
  chunks: string[];
  failure?: unknown;
};

/** Everything that a caller sees of one request, chunk by chunk. */
async function observe(fetch: ProviderFetch, url: string, init: RequestInit = {}): Promise<Seen> {
  const chunks: string[] = [];
  try {
    const response = await fetch(url, { method: "POST", body: "{}", ...init });
    const { status, statusText } = response;
    const seen = { status, statusText, headers: Object.fromEntries(response.headers.entries()), chunks };
    try {
      for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk).toString("base64"));
      return seen;
    } catch (thrown) {
      return { ...seen, failure: toFailure(thrown) };
    }
  } catch (thrown) {
    return { chunks, failure: toFailure(thrown) };
  }
}

function toFailure(thrown: unknown) {
  if (!(thrown instanceof ProviderError)) return thrown;
  const { kind, code, message, transient } = thrown;
  return { kind, code, message, transient };
}

async function record(
  fetch: ProviderFetch,
  run: (fetch: ProviderFetch) => Promise<unknown>,
  secrets = [key],
) {
  const recorder = await createRecorder(fetch, { path, model, secrets });
  await run(recorder.fetch);
  await recorder.close();
}

async function lines(): Promise<unknown[]> {
  const text = await readFile(path, "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** A fetch that answers from memory, in the chunks as they are. */
function answering(
  status: number,
  headers: Record<string, string>,
  chunks: readonly Uint8Array[],
): ProviderFetch {
  async function* play() {
    yield* chunks;
  }
  return async (url) =>
    toResponse({
      status,
      statusText: "",
      url: String(url),
      headers: new Map(Object.entries(headers)),
      body: toReplyBody(play()),
    });
}

describe("a replay", () => {
  const url = "http://127.0.0.1:9/v1/chat/completions";

  it("gives what the recorded run got, chunk by chunk", async () => {
    const chunk = fc.oneof(fc.uint8Array({ minLength: 1 }), fc.string({ minLength: 1 }).map(Buffer.from));
    await fc.assert(
      fc.asyncProperty(fc.array(chunk), fc.constantFrom(200, 429, 500), async (chunks, status) => {
        const headers = { "content-type": "text/event-stream", "retry-after": "1", "x-request-id": "r1" };
        let recorded: Seen | undefined;
        await record(answering(status, headers, chunks), async (fetch) => {
          recorded = await observe(fetch, url);
        });
        const cassette = await openCassette(path);
        expect(await observe(cassette.fetch, url)).toEqual(recorded);
        expect(cassette.model).toEqual(model);
      }),
      { numRuns: 50 },
    );
  });

  it.each<[string, RequestListener]>([
    ["a refused request", (_, response) => response.writeHead(401).end('{"error":{"message":"no"}}')],
    ["a connection that breaks before the reply", (request) => request.socket.destroy()],
    [
      "a connection that breaks in mid-body",
      (request, response) => response.write("data: 1\n\n", () => request.socket.destroy()),
    ],
  ])("fails as the recorded run did: %s", async (_, listener) => {
    const server = await serve(listener);
    let recorded: Seen | undefined;
    await record(createFetch({ env: {} }), async (fetch) => {
      recorded = await observe(fetch, server.url);
    });
    const { headers, ...replayed } = await observe((await openCassette(path)).fetch, server.url);
    const { headers: all, ...rest } = recorded ?? { chunks: [] };
    expect(replayed).toEqual(rest);
    expect(all ?? {}).toMatchObject(headers ?? {});
  });

  it("fails at the point where a time limit ended the recorded request", async () => {
    const server = await serve((_, response) => void response.write("data: 1\n\n"));
    const controller = new AbortController();
    const timeout = new ProviderError("timeout", "acme sent nothing for 120 s");
    await record(createFetch({ env: {} }), async (fetch) => {
      const response = await fetch(server.url, { signal: controller.signal });
      for await (const _ of response.body ?? []) controller.abort(timeout);
    }).catch((thrown) => expect(thrown).toBe(timeout));
    const { chunks, failure } = await observe((await openCassette(path)).fetch, server.url, {
      method: "GET",
    });
    expect([chunks, failure]).toEqual([[btoa("data: 1\n\n")], toFailure(timeout)]);
  });

  it("answers in order and says what it has no answer for", async () => {
    const bodies = ["one", "two"];
    const fetch: ProviderFetch = (...args) =>
      answering(200, {}, [Buffer.from(bodies.shift() ?? "")])(...args);
    await record(fetch, async (recorder) => {
      await observe(recorder, url);
      await observe(recorder, url);
    });
    const cassette = await openCassette(path);
    expect((await observe(cassette.fetch, "https://other.test/v1/chat/completions")).chunks).toEqual([
      btoa("one"),
    ]);
    expect((await observe(cassette.fetch, url)).chunks).toEqual([btoa("two")]);
    const error = { kind: "invalid_request", code: undefined, transient: false };
    expect(await observe(cassette.fetch, url)).toEqual({
      chunks: [],
      failure: {
        ...error,
        message: `the recording ${path} has no answer for request 3: it holds 2; this is POST /v1/chat/completions`,
      },
    });
    expect(await observe((await openCassette(path)).fetch, "http://127.0.0.1:9/v1/responses")).toEqual({
      chunks: [],
      failure: {
        ...error,
        message: `the recording ${path} has no answer for request 1: it has POST /v1/chat/completions there, not POST /v1/responses`,
      },
    });
  });

  it("stops with the reason of an abort", async () => {
    await record(answering(200, {}, [Buffer.from("one"), Buffer.from("two")]), (fetch) =>
      observe(fetch, url),
    );
    const { fetch } = await openCassette(path);
    const controller = new AbortController();
    const body = (await fetch(url, { method: "POST", signal: controller.signal })).body?.[
      Symbol.asyncIterator
    ]();
    expect(await body?.next()).toMatchObject({ done: false });
    controller.abort("stop");
    await expect(body?.next()).rejects.toBe("stop");
  });
});

describe("a recording", () => {
  it("holds the model, the request and the headers that matter, and no credentials", async () => {
    const headers = {
      "content-type": "application/json",
      "x-ratelimit-limit-tokens": "9",
      "set-cookie": "c",
      via: "v",
    };
    const half = Math.floor(key.length / 2);
    const echo = [`{"echo":"${key.slice(0, half)}`, `${key.slice(half)}"}`].map((text) => Buffer.from(text));
    const secretModel = {
      ...model,
      headers: { "x-api-key": key },
      baseUrl: `http://u:${key}@127.0.0.1:9/v1`,
    };
    const recorder = await createRecorder(answering(401, headers, echo), {
      path,
      model: secretModel,
      secrets: [key],
    });
    await observe(recorder.fetch, `https://api.test/v1/x?key=other&alt=sse`, {
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ prompt: `my key is ${key}` }),
    });
    await recorder.close();
    expect(await lines()).toEqual([
      { type: "cassette", version: 1, model: { ...model, headers: {} } },
      {
        type: "exchange",
        request: {
          method: "POST",
          url: "https://api.test/v1/x?key=redacted&alt=sse",
          body: { prompt: "my key is [redacted]" },
        },
        response: {
          status: 401,
          headers: { "content-type": "application/json", "x-ratelimit-limit-tokens": "9" },
          chunks: ['{"echo":"[redacted]"}'],
        },
      },
    ]);
  });

  it("is readable by its owner only, whatever was there and whatever the umask", async () => {
    await writeFile(path, "old");
    await chmod(path, 0o666);
    const umask = process.umask(0);
    try {
      await record(answering(200, {}, []), async () => undefined);
    } finally {
      process.umask(umask);
    }
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await lines()).toHaveLength(1);
  });

  it("has an exchange as soon as its reply was read or given up", async () => {
    const fetch = answering(200, {}, [Buffer.from("one"), Buffer.from("two")]);
    const recorder = await createRecorder(fetch, { path, model, secrets: [] });
    await observe(recorder.fetch, "http://x.test/");
    expect(await lines()).toHaveLength(2);
    const response = await recorder.fetch("http://x.test/");
    for await (const _ of response.body ?? []) break;
    expect((await lines()).at(-1)).toMatchObject({ response: { chunks: ["one"] } });
    await recorder.close();
  });

  it("keeps at its end what was still open", async () => {
    const recorder = await createRecorder(answering(200, {}, [Buffer.from("one")]), {
      path,
      model,
      secrets: [],
    });
    await recorder.fetch("http://x.test/");
    await recorder.close();
    expect((await lines()).at(-1)).toMatchObject({ response: { status: 200, chunks: [] } });
  });

  it("needs its folder", async () => {
    const missing = join(folder, "none", "x.jsonl");
    await expect(
      createRecorder(createFetch({ env: {} }), { path: missing, model, secrets: [] }),
    ).rejects.toEqual(
      new StartupError(`cannot create the recording ${missing}: its folder does not exist; create it first`),
    );
  });

  it.skipIf(process.platform !== "linux")(
    "says at its end that the disk was full, and lets the run go on",
    async () => {
      const recorder = await createRecorder(answering(200, {}, [Buffer.from("one")]), {
        path: "/dev/full",
        model,
        secrets: [],
      });
      expect(await observe(recorder.fetch, "http://x.test/")).toMatchObject({ chunks: [btoa("one")] });
      await expect(recorder.close()).rejects.toThrow(PersistenceError);
    },
  );
});

describe("a file that is no recording", () => {
  const header = JSON.stringify({ type: "cassette", version: 1, model });
  const exchange = (more: object) => JSON.stringify({ type: "exchange", ...more });
  const request = { method: "POST", url: "http://x.test/" };

  it.each<[string, string, string]>([
    ["empty", "", ": is empty"],
    ["no JSON", "hello\n", ":1: is not a JSON object"],
    ["another file", '{"type":"session"}\n', ':1: is no recording: its first line has no "type":"cassette"'],
    ["a later version", '{"type":"cassette","version":2}\n', ":1: has version 2; this program reads 1"],
    ["no model", '{"type":"cassette","version":1}\n', ':1: has no "model"'],
    [
      "an unknown API",
      JSON.stringify({ type: "cassette", version: 1, model: { ...model, api: "x" } }),
      ':1: needs "model.api": one of openai-completions, openai-responses, openai-codex-responses, anthropic-messages',
    ],
    [
      "an unknown switch",
      JSON.stringify({ type: "cassette", version: 1, model: { ...model, compat: { x: 1 } } }),
      ':1: "model.compat" holds a switch or a value that this program does not know',
    ],
    [
      "a base URL that is none",
      JSON.stringify({ type: "cassette", version: 1, model: { ...model, baseUrl: "x" } }),
      ':1: needs a URL in "model.baseUrl"',
    ],
    ["a broken line", `${header}\n{"type":\n${exchange({})}\n`, ":2: is not a JSON object"],
    ["no request", `${header}\n${exchange({})}\n`, ':2: has no "request"'],
    ["no answer", `${header}\n\n${exchange({ request })}\n`, ':3: has neither "response" nor "failure"'],
    [
      "no URL",
      `${header}\n${exchange({ request: { url: "x" }, response: {} })}\n`,
      ':2: needs a URL in "request.url"',
    ],
    [
      "an odd chunk",
      `${header}\n${exchange({ request, response: { chunks: ["a", 1] } })}\n`,
      ':2: "response.chunks[1]" is neither text nor {"base64": text}',
    ],
  ])("is refused with its line: %s", async (_, text, message) => {
    await writeFile(path, text);
    await expect(openCassette(path)).rejects.toEqual(
      new StartupError(`${path}${message}; record it again or mend the line`),
    );
  });

  it("is refused when it is not there", async () => {
    await expect(openCassette(path)).rejects.toEqual(
      new StartupError(`cannot read the recording ${path}: there is no such file`),
    );
  });

  it("is still one when only its last line was cut", async () => {
    await writeFile(path, `${header}\n${exchange({ request, response: { chunks: ["a"] } })}\n{"type":"exch`);
    const { fetch } = await openCassette(path);
    expect((await observe(fetch, "http://x.test/")).chunks).toEqual([btoa("a")]);
    expect((await observe(fetch, "http://x.test/")).failure).toMatchObject({ kind: "invalid_request" });
  });
});

it("the shipped recording can be opened and holds three answers", async () => {
  const shipped = new URL("../../../docs/examples/list-files.cassette.jsonl", import.meta.url).pathname;
  const { model: demo, fetch } = await openCassette(shipped);
  const url = `${demo.baseUrl}/chat/completions`;
  for (let i = 0; i < 3; i++) {
    const text = await (await fetch(url, { method: "POST" })).text();
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  }
  await expect(fetch(url, { method: "POST" })).rejects.toThrow("it holds 3");
});

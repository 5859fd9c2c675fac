import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Api } from "../../src/contract/messages.ts";
import { anyScript, everyApi, providerOf } from "../support/any-wire.ts";
import { apiWires } from "../support/api-wires.ts";
import type { LoggedRequest, RequestJson } from "../support/provider-server.ts";
import { createBench } from "../support/with-provider.ts";
import type { Workspace } from "../support/workspace.ts";

const apis = apiWires.map(({ api }) => api);
const uuid = /^[0-9a-f-]{36}$/;
const cached = { cache_control: { type: "ephemeral" } };
const call = { id: "call_a", name: "ls", args: { path: "." } };
const reasoning = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Hm." }],
  encrypted_content: "ZW5jcnlwdGVk",
};
const responsesPrompt = { role: "user", content: [{ type: "input_text", text: "hi" }] };
const responsesTurn = [
  reasoning,
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "Looking." }] },
  { type: "function_call", call_id: "call_a", name: "ls", arguments: '{"path":"."}' },
  { type: "function_call_output", call_id: "call_a", output: "x.txt" },
];
const responsesBody = {
  model: "m",
  stream: true,
  store: false,
  prompt_cache_key: expect.stringMatching(uuid),
  reasoning: { effort: "medium", summary: "auto" },
  include: ["reasoning.encrypted_content"],
  tools: ["read", "ls"],
};

type Expected = {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  /** All of the first request's body, and what differs in the second's. */
  readonly first: object;
  readonly second: object;
};

const bearer = { authorization: "Bearer test-key-12345678" };
const expected: Readonly<Record<Api, Expected>> = {
  "openai-completions": {
    path: "/v1/chat/completions",
    headers: bearer,
    first: {
      model: "m",
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: "medium",
      messages: [
        { role: "system", content: "SYSTEM" },
        { role: "user", content: "hi" },
      ],
      tools: ["read", "ls"],
    },
    second: {
      messages: [
        { role: "system", content: "SYSTEM" },
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: "Looking.",
          tool_calls: [
            { id: "call_a", type: "function", function: { name: "ls", arguments: '{"path":"."}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_a", content: "x.txt" },
      ],
    },
  },
  "anthropic-messages": {
    path: "/v1/messages",
    headers: { ...bearer, "x-api-key": "test-key-12345678", "anthropic-version": "2023-06-01" },
    first: {
      model: "m",
      max_tokens: 16_384,
      stream: true,
      system: [{ type: "text", text: "SYSTEM", ...cached }],
      messages: [{ role: "user", content: [{ type: "text", text: "hi", ...cached }] }],
      thinking: { type: "enabled", budget_tokens: 8192 },
      tools: ["read", "ls"],
    },
    second: {
      messages: [
        { role: "user", content: [{ type: "text", text: "hi", ...cached }] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm.", signature: "c2lnbmF0dXJl" },
            { type: "text", text: "Looking." },
            { type: "tool_use", id: "call_a", name: "ls", input: { path: "." } },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "call_a",
              content: [{ type: "text", text: "x.txt" }],
              ...cached,
            },
          ],
        },
      ],
    },
  },
  "openai-responses": {
    path: "/v1/responses",
    headers: bearer,
    first: { ...responsesBody, input: [{ role: "developer", content: "SYSTEM" }, responsesPrompt] },
    second: {
      input: [{ role: "developer", content: "SYSTEM" }, responsesPrompt, ...responsesTurn],
    },
  },
  "openai-codex-responses": {
    path: "/v1/responses",
    headers: {
      ...bearer,
      accept: "text/event-stream",
      "chatgpt-account-id": "account-1",
      "openai-beta": "responses=experimental",
      originator: "base-context",
      session_id: expect.stringMatching(uuid),
    },
    first: {
      ...responsesBody,
      instructions: "SYSTEM",
      input: [responsesPrompt],
      tool_choice: "auto",
      parallel_tool_calls: true,
      text: { verbosity: "medium" },
    },
    second: { input: [responsesPrompt, ...responsesTurn] },
  },
};

describe("the first request and the one behind a tool call", () => {
  test.each(apis)("%s", async (api) => {
    const { run, server, workspace } = await createBench(
      anyScript([{ thinking: "Hm.", text: "Looking.", calls: [call] }, { text: "done" }]),
      { api, model: { reasoning: true } },
    );
    workspace.file("x.txt", "x");
    const { status } = await run(["--tools", "read,ls", "hi"], {
      env: { OPENAI_CODEX_ACCOUNT_ID: "account-1", OPENAI_ORG_ID: "org", ANTHROPIC_BETAS: "beta" },
    });
    expect(status).toBe(0);
    const { path, headers, first, second } = expected[api];
    expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `POST ${path}`,
      `POST ${path}`,
    ]);
    expect(server.requests.map(sentHeaders)).toEqual(Array(2).fill({ ...commonHeaders, ...headers }));
    expect([0, 1].map((index) => short(server.json(index)))).toEqual([first, { ...first, ...second }]);
    // A prefix that changes would never be read from the provider's cache.
    expect(JSON.stringify(server.json(1).tools)).toBe(JSON.stringify(server.json(0).tools));
  });
});

describe("a reply is asked to be no larger than what the window has left", () => {
  test.each([
    ["openai-completions", "max_tokens"],
    ["openai-responses", "max_output_tokens"],
    ["anthropic-messages", "max_tokens"],
  ] as const)("%s", async (api, field) => {
    const first = { text: "one", usage: { input: 15_000, output: 1_000 } };
    const { run, server } = await createBench(anyScript([first, { text: "two" }]), {
      api,
      model: { contextWindow: 40_000, maxTokens: 32_000 },
    });
    const { status, stderr } = await run(["hi", "and"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const [before, after] = [0, 1].map((index) => server.json(index)[field]);
    expect(before).toBe(32_000);
    expect(after).toBeLessThanOrEqual(24_000);
    expect(after).toBeGreaterThan(23_000);
  });
});

describe("a session goes on with another API", () => {
  const longId = `call_${"a".repeat(40)}|fc_${"b".repeat(40)}`;
  const pairs = apis.flatMap((from) => apis.map((to) => [from, to] as const));
  test.each(pairs)("%s, then %s", async (from, to) => {
    const { runBare, server, workspace } = await createBench(
      anyScript([
        {
          thinking: "Hm.",
          text: "Looking.",
          calls: [
            { ...call, id: longId },
            { id: "functions.ls:1", name: "my tool", args: {} },
          ],
        },
        { text: "done" },
      ]),
    );
    workspace.homeFile("models.json", { providers: everyApi(server.url, { reasoning: true }) });
    await runBare(["--model", `${providerOf[from]}/m`, "hi"]);
    const { status } = await runBare(["--model", `${providerOf[to]}/m`, "-c", "and now?"]);
    expect(status).toBe(0);
    const body = server.json(2);
    const ids = callIds(body);
    expect(ids.calls).toEqual(ids.results);
    expect(new Set(ids.calls).size).toBe(2);
    for (const id of ids.calls) expect(id).toMatch(idRules[to]);
    expect(ids.names).toEqual(["ls", "my_tool"]);
    const text = JSON.stringify(body);
    const keepsThinking = from === to && to !== "openai-completions";
    expect(text.includes("c2lnbmF0dXJl") || text.includes("ZW5jcnlwdGVk")).toBe(keepsThinking);
    expect(text.includes("Hm.")).toBe(keepsThinking);
  });

  test("thinking without its signature is not sent back to Anthropic", async () => {
    const { run, server, workspace } = await createBench(
      anyScript([{ thinking: "Hm.", text: "Looking.", calls: [call] }, { text: "done" }]),
      { api: "anthropic-messages", model: { reasoning: true } },
    );
    await run(["hi"]);
    rewriteSession(workspace, (text) => text.replace('"thinkingSignature":"c2lnbmF0dXJl"', '"x":1'));
    await run(["-c", "and now?"]);
    const { messages, thinking } = server.json(2);
    expect(JSON.stringify(messages)).not.toContain("Hm.");
    expect(thinking).toEqual({ type: "enabled", budget_tokens: 8192 });
  });

  test("reasoning without its encrypted content is not sent back to OpenAI", async () => {
    const { run, server, workspace } = await createBench(
      anyScript([{ thinking: "Hm.", text: "Looking.", calls: [call] }, { text: "done" }]),
      { api: "openai-responses", model: { reasoning: true } },
    );
    await run(["hi"]);
    rewriteSession(workspace, (text) => text.replace("encrypted_content", "other"));
    await run(["-c", "and now?"]);
    expect(server.requests[2]?.body).not.toContain("rs_1");
  });
});

const commonHeaders = {
  "accept-encoding": "gzip, deflate, br",
  accept: "application/json",
  "content-type": "application/json",
  "user-agent": "base-context",
};

/** What ids each API takes. */
const idRules: Readonly<Record<Api, RegExp>> = {
  "openai-completions": /^[a-zA-Z0-9_.:-]{1,40}$/,
  "anthropic-messages": /^[a-zA-Z0-9_-]{1,64}$/,
  "openai-responses": /^[a-zA-Z0-9_-]{1,64}$/,
  "openai-codex-responses": /^[a-zA-Z0-9_-]{1,64}$/,
};

function sentHeaders({ headers }: LoggedRequest): object {
  const { host: _host, connection: _connection, "content-length": _length, ...sent } = headers;
  return sent;
}

/** A body in which a tool is its name and the system prompt a word. */
function short({ tools, ...body }: RequestJson): RequestJson {
  const isPrompt = (value: unknown) => typeof value === "string" && value.length > 500;
  const text = JSON.stringify(body, (_, value) => (isPrompt(value) ? "SYSTEM" : value));
  return {
    ...JSON.parse(text),
    tools: tools.map(({ name, function: called }: RequestJson) => name ?? called.name),
  };
}

/** The calls of a request and their results, in order, wherever its API keeps them. */
function callIds(body: RequestJson): { calls: string[]; results: string[]; names: string[] } {
  const found = { calls: [] as string[], results: [] as string[], names: [] as string[] };
  JSON.stringify({ ...body, tools: [] }, (_, value) => {
    const called = value?.function ?? value;
    const isCall = ["function", "function_call", "tool_use"].includes(value?.type);
    if (isCall) found.calls.push(value.call_id ?? value.id);
    if (isCall) found.names.push(called.name);
    const result = value?.type === "function_call_output" ? value.call_id : value?.tool_use_id;
    if (result !== undefined || value?.role === "tool") found.results.push(result ?? value.tool_call_id);
    return value;
  });
  return found;
}

function rewriteSession({ home }: Workspace, change: (text: string) => string): void {
  const [file = ""] = readdirSync(join(home, "sessions")).filter((name) => name.endsWith(".jsonl"));
  const path = join(home, "sessions", file);
  const before = readFileSync(path, "utf8");
  expect(change(before)).not.toBe(before);
  writeFileSync(path, change(before));
}

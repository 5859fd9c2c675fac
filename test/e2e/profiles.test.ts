import { describe, expect, test } from "vitest";
import { anyReply } from "../support/any-wire.ts";
import type { LoggedRequest, RequestJson, Script } from "../support/provider-server.ts";
import { createBench } from "../support/with-provider.ts";

/** What one kind of server knows, beside `model`, `messages` and `stream`. */
type Profile = {
  readonly keys: readonly string[];
  readonly toolKeys?: readonly string[];
  readonly roles: readonly string[];
};

const basic = ["tools"];
const roles = ["system", "user", "assistant", "tool"];

/** A server that refuses what it does not know, and names it. */
function strict({ keys, toolKeys = [], roles }: Profile): Script {
  const known = new Set(["model", "messages", "stream", ...keys]);
  const ofTools = new Set(["name", "description", "parameters", ...toolKeys]);
  return (request: LoggedRequest) => {
    const body: RequestJson = JSON.parse(request.body);
    const inTools = (body.tools ?? []).flatMap((tool: RequestJson) => Object.keys(tool.function));
    const unknown = [
      ...Object.keys(body).filter((key) => !known.has(key)),
      ...inTools.filter((key: string) => !ofTools.has(key)),
      ...body.messages.map(({ role }: RequestJson) => role).filter((role: string) => !roles.includes(role)),
    ];
    if (unknown.length === 0) return anyReply(request, { text: "done" });
    const message = `Extra inputs are not permitted: ${unknown.join(", ")}`;
    return {
      status: 422,
      type: "application/json",
      body: JSON.stringify({ detail: [{ msg: message, loc: ["body", unknown[0]] }] }),
    };
  };
}

describe("a server that refuses what it does not know takes our requests", () => {
  test.each<[string, Profile, string, Record<string, unknown>, Record<string, unknown>]>([
    ["any compatible server", { keys: [...basic, "stream_options"], roles }, "mine", {}, {}],
    [
      "vLLM",
      { keys: [...basic, "stream_options", "reasoning_effort"], roles },
      "vllm",
      {},
      { reasoning: true },
    ],
    [
      "Ollama",
      { keys: [...basic, "stream_options", "reasoning_effort"], roles },
      "ollama",
      {},
      { reasoning: true },
    ],
    ["Mistral", { keys: basic, roles }, "mistral", {}, {}],
    [
      "DeepSeek",
      { keys: [...basic, "stream_options", "thinking", "reasoning_effort"], roles },
      "deepseek",
      {},
      { reasoning: true },
    ],
    [
      "OpenAI",
      {
        keys: [
          ...basic,
          "stream_options",
          "store",
          "prompt_cache_key",
          "reasoning_effort",
          "max_completion_tokens",
        ],
        toolKeys: ["strict"],
        roles: [...roles.slice(1), "developer"],
      },
      "openai",
      { api: "openai-completions" },
      { reasoning: true, maxTokens: 1000 },
    ],
    [
      "one without stream options",
      { keys: basic, roles },
      "mine",
      { compat: { supportsUsageInStreaming: false } },
      {},
    ],
    [
      "one without effort",
      { keys: [...basic, "stream_options"], roles },
      "mine",
      { compat: { supportsReasoningEffort: false } },
      { reasoning: true },
    ],
    [
      "one that wants a limit",
      { keys: [...basic, "stream_options", "max_completion_tokens"], roles },
      "mine",
      { compat: { maxTokensField: "max_completion_tokens" } },
      {},
    ],
  ])("%s", async (_, profile, name, provider, model) => {
    const { runBare, server, workspace } = await createBench([strict(profile)]);
    workspace.homeFile("models.json", {
      providers: {
        [name]: {
          baseUrl: `${server.url}/v1`,
          apiKey: "key-12345",
          ...provider,
          models: [{ id: "m", ...model }],
        },
      },
    });
    const result = await runBare(["--model", `${name}/m`, "hi"]);
    expect(result).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
  });

  test("what is refused is named in the error", async () => {
    const { run } = await createBench([strict({ keys: [], roles })]);
    const result = await run(["hi"]);
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(/422[^\n]*not permitted: stream_options, tools \(body\.stream_options\)/);
  });
});

describe("a switch changes what is sent", () => {
  test.each<[Record<string, unknown>, Record<string, unknown>, object]>([
    [{ maxTokensField: "max_tokens" }, { maxTokens: 77 }, { max_tokens: 77 }],
    [{ maxTokensField: "max_completion_tokens" }, { maxTokens: 77 }, { max_completion_tokens: 77 }],
    [{ supportsStore: true }, {}, { store: false }],
    [{ thinkingFormat: "openrouter" }, { reasoning: true }, { reasoning: { effort: "medium" } }],
    [{ thinkingFormat: "zai" }, { reasoning: true }, { thinking: { type: "enabled" } }],
    [{ thinkingFormat: "qwen" }, { reasoning: true }, { enable_thinking: true }],
    [
      { thinkingFormat: "deepseek" },
      { reasoning: true },
      { thinking: { type: "enabled" }, reasoning_effort: "medium" },
    ],
    [{ thinkingFormat: "none" }, { reasoning: true }, {}],
  ])("%j", async (compat, model, expected) => {
    const { run, server } = await createBench([(request) => anyReply(request, { text: "done" })], {
      model: { ...model, compat },
    });
    expect(await run(["--no-tools", "hi"])).toMatchObject({ status: 0, stderr: "" });
    const {
      model: _,
      messages: _messages,
      stream: _stream,
      stream_options: _options,
      ...rest
    } = server.json(0);
    expect(rest).toEqual(expected);
  });

  test("requiresToolResultName, supportsDeveloperRole and supportsStrictTools", async () => {
    const compat = { requiresToolResultName: true, supportsDeveloperRole: true, supportsStrictTools: true };
    const call = { id: "a", name: "ls", args: {} };
    let count = 0;
    const { run, server } = await createBench(
      [(request) => anyReply(request, count++ === 0 ? { calls: [call] } : { text: "done" })],
      { model: { reasoning: true, compat } },
    );
    await run(["--tools", "ls", "hi"]);
    const { messages, tools } = server.json(1);
    expect(messages.map(({ role }: RequestJson) => role)).toEqual(["developer", "user", "assistant", "tool"]);
    expect(messages.at(-1).name).toBe("ls");
    expect(tools[0].function.strict).toBe(false);
  });
});

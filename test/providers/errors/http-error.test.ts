import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ProviderError, type ProviderErrorKind } from "../../../src/contract/errors.ts";
import type { JsonValue } from "../../../src/contract/json.ts";
import { toHttpError, toProviderError, toStreamError } from "../../../src/providers/errors/http-error.ts";

type Reply = {
  status: number;
  body?: JsonValue;
  text?: string;
  headers?: Record<string, string>;
  statusText?: string;
};

function httpError({ status, body, text, headers = {}, statusText = "" }: Reply): ProviderError {
  return toHttpError({
    status,
    statusText,
    header: (name) => headers[name] ?? null,
    body: text ?? (body === undefined ? "" : JSON.stringify(body)),
    provider: "acme",
  });
}

type Kinds = [ProviderErrorKind, "transient" | "final"];
const kinds = (error: ProviderError): Kinds => [error.kind, error.transient ? "transient" : "final"];

const error = (message: string, more: Record<string, JsonValue> = {}) => ({ error: { message, ...more } });

describe("kind and transience of a reply that is not 2xx", () => {
  it.each<[string, Reply, Kinds]>([
    [
      "400 for the key at Google",
      { status: 400, body: [error("API key not valid", { details: [{ reason: "API_KEY_INVALID" }] })] },
      ["auth", "final"],
    ],
    [
      "422 extra_forbidden",
      { status: 422, body: { detail: [{ msg: "x", type: "extra_forbidden" }] } },
      ["invalid_request", "final"],
    ],
    ["400", { status: 400, body: error("no") }, ["invalid_request", "final"]],
    ["401", { status: 401, body: error("no", { code: "401" }) }, ["auth", "final"]],
    ["402", { status: 402, body: error("Monthly usage limit reached") }, ["quota", "final"]],
    ["403", { status: 403, body: error("no") }, ["auth", "final"]],
    ["404", { status: 404, body: error("no") }, ["invalid_request", "final"]],
    ["408", { status: 408 }, ["overloaded", "transient"]],
    ["409", { status: 409 }, ["overloaded", "transient"]],
    ["413 of a web server", { status: 413, text: "<html><h1>too large</h1>" }, ["invalid_request", "final"]],
    ["422", { status: 422, body: { detail: [{ loc: ["body"], msg: "no" }] } }, ["invalid_request", "final"]],
    ["425", { status: 425 }, ["overloaded", "transient"]],
    ["429", { status: 429, body: error("slow down") }, ["rate_limit", "transient"]],
    ["500", { status: 500, body: error("no") }, ["overloaded", "transient"]],
    ["502", { status: 502, text: "<html></html>" }, ["overloaded", "transient"]],
    ["503", { status: 503, text: "no healthy upstream" }, ["overloaded", "transient"]],
    ["520", { status: 520 }, ["overloaded", "transient"]],
    ["524", { status: 524 }, ["overloaded", "transient"]],
    ["529", { status: 529, body: error("Overloaded") }, ["overloaded", "transient"]],
    ["301", { status: 301 }, ["protocol", "final"]],
    [
      "429 insufficient_quota",
      { status: 429, body: error("x", { code: "insufficient_quota" }) },
      ["quota", "final"],
    ],
    [
      "429 with the quota's code in an event of a stream",
      { status: 429, text: 'event: error\ndata: {"error":{"message":"x","code":"insufficient_quota"}}\n\n' },
      ["quota", "final"],
    ],
    [
      "429 with the quota's code in the body that its message is",
      { status: 429, body: error(JSON.stringify(error("x", { code: "insufficient_quota" }))) },
      ["quota", "final"],
    ],
    [
      "429 usage_limit_reached",
      { status: 429, body: error("x", { type: "usage_limit_reached" }) },
      ["quota", "final"],
    ],
    [
      "403 spending limit",
      { status: 403, body: error("used all available credits or reached its monthly spending limit") },
      ["quota", "final"],
    ],
    [
      "400 credit balance",
      { status: 400, body: error("Your credit balance is too low", { type: "invalid_request_error" }) },
      ["quota", "final"],
    ],
    [
      "429 free models a day",
      { status: 429, body: error("Rate limit exceeded: free-models-per-day", { code: 429 }) },
      ["quota", "final"],
    ],
    [
      "429 tokens a day",
      {
        status: 429,
        body: error("Rate limit reached on tokens per day (TPD)", { code: "rate_limit_exceeded" }),
      },
      ["quota", "final"],
    ],
    [
      "429 quota a day at Google",
      {
        status: 429,
        body: [
          error("Quota exceeded", {
            code: 429,
            status: "RESOURCE_EXHAUSTED",
            details: [{ violations: [{ quotaId: "RequestsPerDayPerModel" }] }, { retryDelay: "34s" }],
          }),
        ],
      },
      ["quota", "final"],
    ],
    [
      "429 quota a minute at Google, in the words of an exhausted one",
      {
        status: 429,
        body: [
          error("You exceeded your current quota, please check your plan and billing details", {
            status: "RESOURCE_EXHAUSTED",
            details: [{ violations: [{ quotaId: "RequestsPerMinutePerModel" }] }],
          }),
        ],
      },
      ["rate_limit", "transient"],
    ],
    [
      "429 that links to a billing page",
      {
        status: 429,
        body: error("Rate limit reached on tokens per min. Add a payment method at https://x.test/billing"),
      },
      ["rate_limit", "transient"],
    ],
    [
      "413 of a rate limit",
      {
        status: 413,
        body: error("Request too large for model `m` on tokens per minute", { code: "rate_limit_exceeded" }),
      },
      ["rate_limit", "final"],
    ],
    [
      "400 content filter",
      { status: 400, body: error("filtered", { code: "content_filter" }) },
      ["refusal", "final"],
    ],
    [
      "403 of usage guidelines",
      { status: 403, body: { code: "permission-denied", error: "Content violates usage guidelines." } },
      ["refusal", "final"],
    ],
    [
      "403 of an exhausted free tier",
      { status: 403, body: error("exhausted", { code: "AllocationQuota.FreeTierOnly" }) },
      ["quota", "final"],
    ],
    [
      "429 without a balance at Zhipu",
      { status: 429, body: error("余额不足", { code: "1113" }) },
      ["quota", "final"],
    ],
    ["498", { status: 498, body: error("no capacity") }, ["overloaded", "transient"]],
  ])("%s", (_, reply, expected) => {
    expect(kinds(httpError(reply))).toEqual(expected);
  });
});

describe("overflow", () => {
  it.each<[string, number, JsonValue]>([
    ["a code", 400, error("Please reduce the length", { code: "context_length_exceeded" })],
    ["a type", 400, error("no", { type: "exceed_context_size_error", code: 400 })],
    ["Anthropic's words", 400, error("prompt is too long: 210000 tokens > 200000 maximum")],
    ["Anthropic's sum", 400, error("input length and `max_tokens` exceed context limit: 190000 + 20000")],
    ["Anthropic's size", 413, error("Request exceeds the maximum size", { type: "request_too_large" })],
    ["OpenAI's words", 400, error("This model's maximum context length is 8192 tokens.")],
    ["Google's words", 400, error("The input token count (11) exceeds the maximum number of tokens (10)")],
    ["xAI's words", 400, error("This model's maximum prompt length is 131072 but the request contains 5")],
    ["Ollama's words", 400, error("prompt too long; exceeded max context length by 5 tokens")],
    ["llama.cpp's words", 500, error("the request exceeds the available context size", { type: "server" })],
    ["llama.cpp's words in a reply", 500, error("Context size has been exceeded.", { type: "server_error" })],
    ["Cohere's words", 400, { message: "too many tokens: size limit exceeded by 2 tokens." }],
    ["Cerebras's words", 400, error("Please reduce the length of the messages or completion.")],
    ["Ark's words", 400, error("Total tokens of image and text exceed max message tokens")],
    ["Baidu's words", 400, { error_code: 336007, error_msg: "the max input characters is 11200" }],
    ["Baidu's code", 400, { error_code: 336103, error_msg: "no" }],
    ["GitHub's code", 413, error("Request body too large", { code: "tokens_limit_reached" })],
    [
      "what an upstream said",
      400,
      {
        error: {
          message: "Provider returned error",
          metadata: { raw: '{"error":{"code":"context_length_exceeded"}}' },
        },
      },
    ],
  ])("is recognised by %s", (_, status, body) => {
    expect(kinds(httpError({ status, body }))).toEqual(["overflow", "final"]);
  });

  it.each<[string, number, JsonValue]>([
    ["a rate limit that speaks of the prompt's length", 429, error("reduce the prompt length or max tokens")],
    ["an output limit", 400, error("max_tokens is too large: 500000. At most 16384 completion tokens")],
    ["the end of an output", 400, error("Token limit reached", { code: 400 })],
    ["an image", 400, error("image exceeds 5 MB maximum")],
    ["a missing model", 404, error("The model `long-context length exceeded` does not exist")],
    ["a long id", 400, error("Invalid 'input[3].call_id': string too long. Maximum length 64")],
  ])("is not seen in %s", (_, status, body) => {
    expect(httpError({ status, body }).kind).not.toBe("overflow");
  });
});

describe("the message of a reply that is not 2xx", () => {
  it.each<[string, Reply, string]>([
    [
      "nested, with a parameter",
      { status: 400, body: error("Unknown value.", { type: "bad", code: "unknown", param: "store" }) },
      "acme answered 400 (unknown): Unknown value. (parameter: store)",
    ],
    [
      "nested, with a parameter that the words name",
      { status: 400, body: error("Unknown parameter: 'store'.", { param: "store" }) },
      "acme answered 400: Unknown parameter: 'store'.",
    ],
    ["flat message", { status: 400, body: { message: "no", code: "c" } }, "acme answered 400 (c): no"],
    ["flat detail", { status: 400, body: { detail: "no" } }, "acme answered 400: no"],
    [
      "a list of details",
      { status: 422, body: { detail: [{ loc: ["body", "store"], msg: "extra", type: "extra_forbidden" }] } },
      "acme answered 422 (extra_forbidden): extra (body.store)",
    ],
    ["an error that is text", { status: 400, body: { error: "no" } }, "acme answered 400: no"],
    [
      "an array",
      { status: 400, body: [error("no", { status: "INVALID" })] },
      "acme answered 400 (INVALID): no",
    ],
    [
      "an upstream inside",
      {
        status: 502,
        body: error("Provider returned error", { code: 502, metadata: { raw: "upstream broke" } }),
      },
      "acme answered 502: Provider returned error: upstream broke",
    ],
    [
      "a failed response",
      { status: 500, body: { response: { error: { code: "server_error", message: "boom" } } } },
      "acme answered 500 (server_error): boom",
    ],
    ["text", { status: 503, text: " no\nhealthy  upstream " }, "acme answered 503: no healthy upstream"],
    [
      "a page",
      { status: 502, statusText: "Bad Gateway", text: `<html><title>502 down</title>${"x".repeat(9_999)}` },
      'acme answered 502 Bad Gateway: an HTML page titled "502 down"',
    ],
    ["JSON of an unknown shape", { status: 400, body: { foo: [1] } }, 'acme answered 400: {"foo":[1]}'],
    [
      "a redirect",
      { status: 301, headers: { location: "https://x.test/v1" }, text: "<html>moved</html>" },
      "acme answered 301: a redirect to https://x.test/v1; check the base URL",
    ],
    ["nothing", { status: 520 }, "acme answered 520: the provider gave no reason"],
    [
      "an empty error",
      { status: 400, body: { error: {} } },
      "acme answered 400: the provider gave no reason",
    ],
    ["an empty message", { status: 400, body: error("") }, "acme answered 400: the provider gave no reason"],
    [
      "refused credentials",
      { status: 401, body: error("bad key", { code: "invalid_api_key" }) },
      "acme answered 401 (invalid_api_key): bad key (check the credentials of acme)",
    ],
    [
      "a short wait",
      { status: 429, body: error("slow down"), headers: { "retry-after": "2" } },
      "acme answered 429: slow down (try again in 2 s)",
    ],
  ])("%s", (_, reply, message) => {
    expect(httpError(reply).message).toBe(message);
  });

  it("is bounded and one line", () => {
    const { message } = httpError({ status: 400, text: `a\n${"😀".repeat(100_000)}` });
    expect(message.length).toBeLessThan(400);
    expect(message).not.toMatch(/[\n\r]/);
    expect(message.isWellFormed()).toBe(true);
  });

  it("names no moment that no calendar has", () => {
    const { message, kind } = httpError({
      status: 429,
      body: error("slow down"),
      headers: { "retry-after": "99999999999999999999" },
    });
    expect(kind).toBe("rate_limit");
    expect(message).toMatch(/^acme answered 429: slow down \(try again in \d+ d[^,]*\)$/);
  });

  it("says when an exhausted limit resets", () => {
    const found = httpError({
      status: 429,
      body: error("used up", { type: "usage_limit_reached", resets_in_seconds: 529_498 }),
    });
    expect(found.message).toMatch(
      /^acme answered 429 \(usage_limit_reached\): used up \(try again in 6 d 3 h, at \d{4}-\d\d-\d\dT\d\d:\d\dZ\)$/,
    );
    expect(found.retryAfterMs).toBe(529_498_000);
  });
});

describe("retryAfterMs", () => {
  const later = `${new Date(Date.now() + 3_600_000).toISOString().slice(0, 19)}Z`;

  it.each<[string, Record<string, string>, number | undefined]>([
    ["seconds", { "retry-after": "7200" }, 7_200_000],
    ["parts of a second", { "retry-after": "0.5" }, 500],
    ["milliseconds", { "retry-after-ms": "1500" }, 1500],
    ["both: the longer", { "retry-after": "1", "retry-after-ms": "0" }, 1000],
    ["a date that is past", { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, 0],
    ["nonsense", { "retry-after": "soon" }, undefined],
    [
      "a limit that is used up",
      { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m2.5s" },
      62_500,
    ],
    [
      "a limit with something left",
      { "x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-requests": "20ms" },
      undefined,
    ],
    ["nothing", {}, undefined],
  ])("of %s", (_, headers, expected) => {
    expect(httpError({ status: 429, headers }).retryAfterMs).toBe(expected);
  });

  it.each<[string, JsonValue, number]>([
    ["seconds", error("slow down", { retry_after: 1.5 }), 1500],
    ["milliseconds", { message: "slow down", retryAfterMs: 700 }, 700],
    [
      "seconds as text beside an upstream's words",
      error("x", { metadata: { retry_after_seconds: "3" } }),
      3000,
    ],
  ])("stated in the body, in %s", (_, body, expected) => {
    expect(httpError({ status: 429, body }).retryAfterMs).toBe(expected);
    expect(httpError({ status: 429, body, headers: { "retry-after": "2" } }).retryAfterMs).toBe(2000);
  });

  it.each([
    [
      "a limit",
      { "requests-remaining": "4", "input-tokens-remaining": "0", "input-tokens-reset": later },
      3_600_000,
    ],
    [
      "a subscription",
      { "unified-status": "rejected", "unified-reset": String(Date.parse(later) / 1000) },
      3_600_000,
    ],
    ["nothing", { "tokens-remaining": "1", "tokens-reset": later, "unified-status": "allowed" }, undefined],
  ])("of %s that Anthropic states as used up", (_, limits, expected) => {
    const headers = Object.fromEntries(
      Object.entries(limits).map(([name, value]) => [`anthropic-ratelimit-${name}`, value]),
    );
    const waitMs = httpError({ status: 429, headers }).retryAfterMs;
    expect(waitMs === undefined ? undefined : Math.round(waitMs / 60_000) * 60_000).toBe(expected);
  });

  it("of a date to come", () => {
    const headers = { "retry-after": new Date(Date.now() + 90_000).toUTCString() };
    const waitMs = httpError({ status: 503, headers }).retryAfterMs;
    expect(waitMs).toBeGreaterThan(80_000);
    expect(waitMs).toBeLessThanOrEqual(90_000);
  });
});

describe("an error inside a 200", () => {
  it.each<[string, JsonValue, Kinds, string]>([
    [
      "chunk with a status",
      { id: "c1", choices: [], error: { message: "worker limit", code: 429 } },
      ["rate_limit", "transient"],
      "acme reported an error (429): worker limit",
    ],
    [
      "chunk with a server's status",
      error("upstream overloaded", { code: 502 }),
      ["overloaded", "transient"],
      "acme reported an error (502): upstream overloaded",
    ],
    [
      "chunk with a client's status",
      error("bad call", { code: "tool_use_failed", status_code: 400 }),
      ["invalid_request", "final"],
      "acme reported an error (tool_use_failed): bad call",
    ],
    [
      "Anthropic event",
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      ["overloaded", "transient"],
      "acme reported an error (overloaded_error): Overloaded",
    ],
    [
      "the inner error alone",
      { type: "authentication_error", message: "no" },
      ["auth", "final"],
      "acme reported an error (authentication_error): no (check the credentials of acme)",
    ],
    [
      "flat Responses event",
      { type: "error", code: "context_length_exceeded", message: "too long", param: "input" },
      ["overflow", "final"],
      "acme reported an error (context_length_exceeded): too long (parameter: input)",
    ],
    [
      "failed response",
      {
        type: "response.failed",
        response: { status: "failed", error: { code: "server_error", message: "boom" } },
      },
      ["overloaded", "transient"],
      "acme reported an error (server_error): boom",
    ],
    [
      "exhausted quota",
      { code: "insufficient_quota", message: "used up" },
      ["quota", "final"],
      "acme reported an error (insufficient_quota): used up",
    ],
    [
      "content inspection at DashScope",
      error("no", { code: "DataInspectionFailed" }),
      ["refusal", "final"],
      "acme reported an error (DataInspectionFailed): no",
    ],
    [
      "a wrong parameter at DashScope",
      { code: "InvalidParameter", message: "no", request_id: "r" },
      ["invalid_request", "final"],
      "acme reported an error (InvalidParameter): no",
    ],
    [
      "an unpaid account at DashScope",
      { code: "Arrearage", message: "no", request_id: "r" },
      ["quota", "final"],
      "acme reported an error (Arrearage): no",
    ],
    [
      "moderation at OpenRouter",
      { choices: [], error: { code: 403, message: "flagged", metadata: { reasons: ["violence"] } } },
      ["refusal", "final"],
      "acme reported an error (403): flagged",
    ],
    [
      "a policy in the code of a failed response",
      { code: "image_content_policy_violation", message: "no" },
      ["refusal", "final"],
      "acme reported an error (image_content_policy_violation): no",
    ],
    [
      "an image that is refused",
      { code: "image_too_small", message: "no" },
      ["invalid_request", "final"],
      "acme reported an error (image_too_small): no",
    ],
    [
      "a number at Baidu",
      { error_code: 18, error_msg: "Open api qps request limit reached" },
      ["rate_limit", "transient"],
      "acme reported an error (18): Open api qps request limit reached",
    ],
    [
      "an exhausted quota at Baidu",
      { error_code: 17, error_msg: "no", id: "as-1" },
      ["quota", "final"],
      "acme reported an error (17): no",
    ],
    [
      "a number at MiniMax",
      { choices: null, base_resp: { status_code: 1004, status_msg: "login fail" } },
      ["auth", "final"],
      "acme reported an error (1004): login fail (check the credentials of acme)",
    ],
    [
      "words only",
      error("model is loading"),
      ["overloaded", "transient"],
      "acme reported an error: model is loading",
    ],
    ["text", "boom", ["overloaded", "transient"], "acme reported an error: boom"],
    ["nothing", null, ["overloaded", "transient"], "acme reported an error: the provider gave no reason"],
  ])("%s", (_, body, expected, message) => {
    const found = toStreamError(body, "acme");
    expect([kinds(found), found.message]).toEqual([expected, message]);
  });
});

describe("whatever was thrown", () => {
  const original = new ProviderError("quota", "used up");

  it.each<[string, unknown]>([
    ["itself", original],
    ["wrapped", new Error("Connection error.", { cause: original })],
    ["wrapped twice", new Error("a", { cause: new Error("b", { cause: original }) })],
  ])("a ProviderError stays: %s", (_, thrown) => {
    expect(toProviderError(thrown, "acme")).toBe(original);
  });

  it.each<[string, object, Kinds, string]>([
    [
      "refused",
      { code: "ECONNREFUSED", address: "127.0.0.1", port: 9 },
      ["network", "transient"],
      "cannot connect to acme (127.0.0.1:9): connection refused; is the server running?",
    ],
    [
      "unknown host",
      { code: "ENOTFOUND", hostname: "api.invalid" },
      ["network", "transient"],
      "cannot connect to acme (api.invalid): no such host (ENOTFOUND); check the base URL and the network",
    ],
    ["reset", { code: "ECONNRESET" }, ["network", "transient"], "the connection to acme broke (ECONNRESET)"],
    [
      "slow",
      { code: "ETIMEDOUT" },
      ["network", "transient"],
      "cannot connect to acme: no answer (ETIMEDOUT)",
    ],
    [
      "untrusted",
      { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
      ["network", "final"],
      "cannot connect to acme: its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT: x)",
    ],
    [
      "undici's",
      { code: "UND_ERR_SOCKET" },
      ["network", "transient"],
      "the connection to acme broke (UND_ERR_SOCKET)",
    ],
    [
      "not HTTP",
      { code: "HPE_INVALID_CONSTANT" },
      ["protocol", "transient"],
      "the reply of acme is not HTTP (HPE_INVALID_CONSTANT); check the base URL",
    ],
    ["unknown", {}, ["protocol", "transient"], "the reply of acme cannot be read: x"],
  ])("an error of the connection: %s", (_, fields, expected, message) => {
    const thrown = Object.assign(new Error("x"), fields);
    const direct = toProviderError(thrown, "acme");
    expect([kinds(direct), direct.message]).toEqual([expected, message]);
    const wrapped = toProviderError(new TypeError("x", { cause: thrown }), "acme");
    expect([kinds(wrapped), wrapped.message]).toEqual([expected, message]);
  });
});

const recordings = process.env.BASE_CONTEXT_FIXTURES;

describe.skipIf(recordings === undefined)("recorded failures", () => {
  it.each(recordedFailures())("$name keeps its words and is of kind $kind", ({ reply, kind, words }) => {
    const found = httpError(reply);
    expect(found.kind).toBe(kind);
    expect(found.message).toContain(words);
  });
});

describe.skipIf(recordings === undefined)("recorded errors inside a 200", () => {
  it.each<[string, Kinds]>([
    ["anthropic/midstream-overloaded-after-text", ["overloaded", "transient"]],
    ["openai-chat/groq-gptoss-tool-use-failed-midstream", ["invalid_request", "final"]],
    ["openai-chat/openrouter-minimax-length", ["invalid_request", "final"]],
    ["openai-codex/midstream-context-length", ["overflow", "final"]],
    ["openai-responses/gpt5nano-insufficient-quota-midstream", ["quota", "final"]],
  ])("%s", (name, expected) => {
    const stream = readFileSync(`${recordings}/${name}.sse`, "utf8");
    const data = stream.split("\n").filter((line) => /^data: \{.*"error":\{/.test(line));
    const found = data.map((line) => kinds(toStreamError(JSON.parse(line.slice(6)), "acme")));
    expect(found.length).toBeGreaterThan(0);
    expect(found).toEqual(found.map(() => expected));
  });
});

type Recorded = { name: string; reply: Reply; kind: ProviderErrorKind; words: string };

function recordedFailures(): Recorded[] {
  if (recordings === undefined) return [];
  return readdirSync(recordings, { recursive: true, encoding: "utf8" })
    .filter((name) => /err-[^/]*\.meta\.json$/.test(name))
    .map((name) => {
      const meta = JSON.parse(readFileSync(`${recordings}/${name}`, "utf8"));
      const stem = name.replace(/\.meta\.json$/, "");
      const file = ["json", "html", "txt"].map((type) => `${recordings}/${stem}.${type}`).find(existsSync);
      return {
        name: stem,
        reply: {
          status: meta.httpStatus,
          headers: meta.headers,
          text: file === undefined ? "" : readFileSync(file, "utf8"),
        },
        kind: recordedKind(meta.kinds, meta.httpStatus),
        words: meta.expected.errorContains,
      };
    });
}

function recordedKind(words: readonly string[], status: number): ProviderErrorKind {
  const table: [string, ProviderErrorKind][] = [
    ["context-length", "overflow"],
    ["content-filter", "refusal"],
    ["quota", "quota"],
    ["usage-limit", "quota"],
    ["rate-limit", "rate_limit"],
    ["error-401", "auth"],
  ];
  const byWord = table.find(([word]) => words.includes(word))?.[1];
  return byWord ?? (status >= 500 ? "overloaded" : "invalid_request");
}

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { apiWires } from "../support/api-wires.ts";
import { chatReply } from "../support/chat-wire.ts";
import type { Script } from "../support/provider-server.ts";
import { readSession, sessionPath } from "../support/session-file.ts";
import { createBench } from "../support/with-provider.ts";

const key = "test-key-12345678";
const done = chatReply({ text: "done" });

/** Everything that a run left in its home folder, beside what the user wrote there. */
function leftBehind(home: string): string {
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map((file) => join(file.parentPath, file.name))
    .filter((path) => path !== join(home, "models.json"))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
}

describe("a key that comes back from the provider reaches neither stdout, stderr nor a file", () => {
  const half = key.slice(0, 9);
  const rest = key.slice(9);
  const json = (body: object, status = 401): Script => ({
    status,
    type: "application/json",
    body: JSON.stringify(body),
  });
  const cases: [string, Script[]][] = [
    ["in one delta", [chatReply({ text: `key ${key}.` })]],
    ["in two deltas", [chatReply({ text: ["key ", half, `${rest}.`] })]],
    ["letter by letter", [chatReply({ text: [...`key ${key}.`] })]],
    ["in thinking", [chatReply({ thinking: [half, rest], text: "ok" })]],
    [
      "in a call's arguments",
      [
        chatReply({ calls: [{ name: "bash", args: { command: `echo ${key} ${"x".repeat(60_000)}` } }] }),
        done,
      ],
    ],
    ["in a tool's output", [chatReply({ calls: [{ name: "read", args: { path: "env.txt" } }] }), done]],
    [
      "in a large output",
      [
        chatReply({
          calls: [{ name: "bash", args: { command: "yes $(cat env.txt) | head -9000" } }],
        }),
        done,
      ],
    ],
    ["in a call's name", [chatReply({ calls: [{ name: key, args: {} }] }), done]],
    ["in an error body", [json({ error: { message: `Incorrect API key provided: ${key}` } })]],
    ["in the words of a code", [json({ error: { message: "no", code: key } })]],
    [
      "in an error of text that is cut",
      [{ status: 403, type: "text/plain", body: `${"x".repeat(288)}${key}` }],
    ],
    ["in an error of text", [{ status: 403, type: "text/plain", body: `Bearer ${key} is bad` }]],
    ["in a page's title", [{ status: 403, type: "text/html", body: `<html><title>${key}</title></html>` }]],
    ["in an error within the stream", [{ body: `data: {"error":{"message":"key ${key}"}}\n\n` }]],
    ["in base64", [json({ error: { message: Buffer.from(`${key}:`).toString("base64") } })]],
    ["in a URL", [{ status: 302, headers: { location: `http://127.0.0.1:1/?key=${key}` }, body: "" }]],
    ["in a finish reason", [chatReply({ text: "x", finish: key })]],
    ["in the model's name", [{ body: String(done.body).replaceAll('"model":"m"', `"model":"${key}"`) }]],
    ["in the reply's id", [{ body: String(done.body).replaceAll('"id":"c1"', `"id":"${key}"`) }]],
    ["in what is no stream", [{ body: `${key} and more` }]],
  ];
  test.each(cases)("%s", async (_, script) => {
    const { run, workspace } = await createBench(script);
    workspace.homeFile("settings.json", { retry: { enabled: false } });
    workspace.file("env.txt", `KEY=${key}\n`);
    for (const mode of [["--mode", "json"], ["--mode", "json", "--json-deltas"], []]) {
      const { stdout, stderr, status } = await run([...mode, "--record", "tape.jsonl", "--verbose", "hi"]);
      expect([0, 1]).toContain(status);
      const tape = readFileSync(join(workspace.cwd, "tape.jsonl"), "utf8");
      for (const [where, text] of Object.entries({ stdout, stderr, home: leftBehind(workspace.home), tape }))
        expect(text.includes(key.slice(0, 12)) ? where : "").toBe("");
    }
  });

  test.each(apiWires)("through $api", async (wire) => {
    const { run, workspace } = await createBench(
      [wire.reply({ thinking: [half, rest], text: ["a", half, rest] })],
      { api: wire.api },
    );
    const { stdout, status } = await run(["--mode", "json", "--record", "tape.jsonl", "hi"]);
    expect(status).toBe(0);
    expect(stdout).toContain("[redacted]");
    expect(stdout + leftBehind(workspace.home)).not.toContain(key);
    const tape = readFileSync(join(workspace.cwd, "tape.jsonl"), "utf8");
    expect(tape).not.toContain(half);
    expect(tape).not.toContain(rest);
  });
});

test("a key in a prompt is kept back from the session and the model", async () => {
  const { run, server, workspace } = await createBench([done]);
  workspace.file("env.txt", `KEY=${key}\n`);
  const { stdout } = await run(["--mode", "json", "@env.txt", `my key is ${key}`]);
  expect(stdout + leftBehind(workspace.home) + server.requests[0]?.body).not.toContain(key);
});

test("a key beside what an edit changes is kept back from the session", async () => {
  const edit = { path: "env.txt", oldText: "A=1", newText: "A=2" };
  const { run, workspace } = await createBench([chatReply({ calls: [{ name: "edit", args: edit }] }), done]);
  workspace.file("env.txt", `A=1\nKEY=${key}\n`);
  const { stdout } = await run(["--mode", "json", "hi"]);
  expect(readFileSync(join(workspace.cwd, "env.txt"), "utf8")).toBe(`A=2\nKEY=${key}\n`);
  expect(stdout).toContain("+A=2");
  expect(stdout + leftBehind(workspace.home)).not.toContain(key);
});

test.each([
  ["the session's name", ["--name", `my ${key}`, "hi", "/session"]],
  ["a later name", ["hi", `/name ${key}`, "/session"]],
  ["a label", ["hi", `/label ${key}`]],
  ["a goal", ["--goal", `use ${key}`, "--autonomous-max-turns", "1", "hi"]],
  ["what a gate is", ["--autonomous-gate", `echo ${key}`, "hi"]],
  ["where an export goes", ["hi", `/export ${key}.md`]],
  ["what a summary is to keep", ["hi", `/compact ${key}`]],
  ["a command that there is not", ["hi", `/${key}`]],
])("a key in %s is kept back from the session", async (_, args) => {
  const { run, workspace } = await createBench([done]);
  const { stdout, stderr } = await run(["--mode", "json", ...args]);
  expect(stdout + stderr + leftBehind(workspace.home)).not.toContain(key);
});

test("a key that is a word of the session's file leaves the file readable", async () => {
  const bench = await createBench([done], { apiKey: "custom" });
  await bench.run(["--goal", "custom", "--autonomous-max-turns", "1", "hi"]);
  expect(await bench.run(["-c", "custom"])).toMatchObject({ status: 0, stderr: "" });
  expect(readSession(sessionPath(bench.workspace)).map(({ type }) => type)).toContain("custom");
});

test("a secret header is kept back as well", async () => {
  const headers = { "X-Api-Token": "token-abcdefgh", Cookie: "session=cookie-abcdefgh" };
  const { run, workspace } = await createBench(
    [chatReply({ text: "token-abcdefgh session=cookie-abcdefgh" })],
    { provider: { headers } },
  );
  const { stdout } = await run(["--mode", "json", "hi"]);
  expect(stdout + leftBehind(workspace.home)).not.toContain("abcdefgh");
});

test("the key of a model that is chosen later is kept back from recordings and kept output, too", async () => {
  const other = "other-key-abcdefgh";
  const { run, server, workspace } = await createBench([
    done,
    chatReply({
      text: `it is ${other}`,
      calls: [{ name: "bash", args: { command: "yes $(cat env.txt) | head -9000" } }],
    }),
    done,
  ]);
  const model = { baseUrl: `${server.url}/v1`, models: [{ id: "m" }] };
  workspace.homeFile("models.json", {
    providers: { fake: { ...model, apiKey: key }, other: { ...model, apiKey: other } },
  });
  workspace.file("env.txt", `${key} ${other}\n`);
  const { status, stdout } = await run([
    "--mode",
    "json",
    "--record",
    "tape.jsonl",
    "hi",
    "/model other/m",
    "hi",
  ]);
  expect(status).toBe(0);
  const tape = readFileSync(join(workspace.cwd, "tape.jsonl"), "utf8");
  for (const text of [stdout, tape, leftBehind(workspace.home)]) {
    expect(text).toContain("[redacted]");
    expect(text.includes(other) || text.includes(key)).toBe(false);
  }
});

describe("a credential that stands in an address is kept back", () => {
  const quoting: Script = ({ method, url, headers }) => ({
    status: 404,
    type: "text/plain",
    body: `Cannot ${method} ${url} for ${headers["proxy-authorization"] ?? headers.authorization} ${headers["x-api-token"]}`,
  });

  test.each([
    ["of a model", "m"],
    ["that is asked for its models", "other"],
  ])("in the query of a base URL %s", async (_, model) => {
    const { runBare, server, workspace } = await createBench([quoting]);
    const baseUrl = `${server.url}/v1?api_key=query-abcdefgh&v=1`;
    for (const api of ["openai-completions", "anthropic-messages"]) {
      workspace.homeFile("models.json", { providers: { gw: { baseUrl, api, models: [{ id: "m" }] } } });
      const run = await runBare(["--mode", "json", "--model", `gw/${model}`, "hi"]);
      expect(run.stderr).toContain("api_key=[redacted]&v=1");
      expect(run.stdout + run.stderr + leftBehind(workspace.home)).not.toContain("abcdefgh");
    }
  });

  test("in a header of a provider that is asked for its models", async () => {
    const headers = { "X-Api-Token": "token-abcdefgh" };
    const { runBare } = await createBench([quoting], { provider: { headers } });
    const { status, stderr } = await runBare(["--model", "fake/other", "hi"]);
    expect(status).toBe(2);
    expect(stderr).toContain("[redacted]");
    expect(stderr).not.toContain("abcdefgh");
  });

  test("in the variable of a proxy, which commands get nevertheless", async () => {
    const { run, server, workspace } = await createBench(
      [
        chatReply({ calls: [{ name: "bash", args: { command: "echo $HTTP_PROXY >proxy.txt; env" } }] }),
        quoting,
      ],
      { provider: { baseUrl: "http://made-up.test/v1" } },
    );
    const proxy = server.url.replace("http://", "http://user:proxy-abcdefgh@");
    const result = await run(["--mode", "json", "hi"], { env: { HTTP_PROXY: proxy } });
    expect(result.stderr).toContain("Basic [redacted]");
    const basic = Buffer.from("user:proxy-abcdefgh").toString("base64");
    for (const text of [result.stdout + result.stderr + leftBehind(workspace.home)]) {
      expect(text).not.toContain("abcdefgh");
      expect(text).not.toContain(basic);
    }
    expect(readFileSync(join(workspace.cwd, "proxy.txt"), "utf8")).toBe(`${proxy}\n`);
  });

  test("in the address of the catalog", async () => {
    const { runBare, server } = await createBench([quoting]);
    const BASE_CONTEXT_CATALOG_URL = `${server.url.replace("//", "//user:pass-abcdefgh@")}/?token=query-abcdefgh`;
    const { stderr } = await runBare(["models", "refresh"], { env: { BASE_CONTEXT_CATALOG_URL } });
    expect(stderr).toContain(`base-context: ${server.url}/?token=redacted cannot be fetched`);
    expect(stderr).toContain("Basic [redacted]");
    expect(stderr).not.toContain("abcdefgh");
  });
});

test("a short key and a placeholder leave texts whole", async () => {
  for (const apiKey of ["x", "ollama", "abc"]) {
    const { run } = await createBench([chatReply({ text: "ollama xyz abc" })], { apiKey });
    expect(await run(["hi"])).toMatchObject({ status: 0, stdout: "ollama xyz abc\n" });
  }
});

test("what a run leaves is for its user only, whatever the umask", async () => {
  const { run, workspace } = await createBench([
    chatReply({ calls: [{ name: "bash", args: { command: "seq 100000" } }] }),
    done,
  ]);
  const before = process.umask(0);
  try {
    await run(["--record", "tape.jsonl", "hi"]);
  } finally {
    process.umask(before);
  }
  const open = readdirSync(workspace.home, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => path !== join(workspace.home, "models.json"))
    .filter((path) => (statSync(path).mode & 0o077) !== 0);
  expect(open).toEqual([]);
  expect(statSync(join(workspace.cwd, "tape.jsonl")).mode & 0o777).toBe(0o600);
});

import { once } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProviderError } from "../../../src/contract/errors.ts";
import type { JsonValue } from "../../../src/contract/json.ts";
import { createFetch } from "../../../src/providers/http/fetch.ts";
import { toReplyBody, toResponse } from "../../../src/providers/http/reply.ts";
import { readServerEvents, type ServerEvent } from "../../../src/providers/http/sse.ts";
import { serve } from "../../support/loopback.ts";

type Body = { chunks: readonly Uint8Array[]; type?: string; thrown?: unknown };

/** A reply from memory that counts what was asked of it. */
function reply({ chunks, type = "text/event-stream", thrown }: Body) {
  const counts = { pulled: 0, returned: 0 };
  async function* play() {
    for (const chunk of chunks) {
      counts.pulled += 1;
      yield chunk;
    }
    if (thrown !== undefined) throw thrown;
  }
  const response = toResponse({
    status: 200,
    statusText: "OK",
    url: "http://127.0.0.1/",
    headers: new Map([["content-type", type]]),
    body: toReplyBody(play(), () => {
      counts.returned += 1;
    }),
  });
  return { response, counts };
}

function split(text: string, size: number): Uint8Array[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, i * size + size),
  );
}

async function collect(response: Response): Promise<ServerEvent[]> {
  const events: ServerEvent[] = [];
  for await (const event of readServerEvents(response, "acme")) events.push(event);
  return events;
}

async function failure(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ProviderError);
  const { kind, message, transient, status } = error as ProviderError;
  return { kind, message, transient, ...(status !== undefined && { status }) };
}

const event = (data: JsonValue, name?: string): ServerEvent => ({ kind: "event", name, data });
const done: ServerEvent = { kind: "done" };

const framings: { name: string; text: string; events: ServerEvent[] }[] = [
  { name: "LF", text: 'data: {"a":1}\n\ndata: [DONE]\n\n', events: [event({ a: 1 }), done] },
  { name: "CRLF", text: 'data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n', events: [event({ a: 1 }), done] },
  { name: "CR", text: "data: 1\r\rdata: 2\r\r", events: [event(1), event(2)] },
  { name: "no space", text: 'data:{"a":1}\n\ndata:[DONE]\n\n', events: [event({ a: 1 }), done] },
  {
    name: "names, ids, retries and comments",
    text: ": hi\n\nevent: delta\nid: 7\nretry: 10\ndata: 1\n\n: ping\n\ndata: 2\n\n",
    events: [event(1, "delta"), event(2)],
  },
  {
    name: "an error in a field of its own",
    text: 'data: 1\n\nerror: {"code":500}\n\n',
    events: [event(1), event({ code: 500 }, "error")],
  },
  { name: "data in several lines", text: 'data: {"a":\ndata: 1}\n\n', events: [event({ a: 1 })] },
  { name: "no blank line at the end", text: "data: 1\n\ndata: 2", events: [event(1), event(2)] },
  { name: "[DONE] without its blank line", text: "data: 1\n\ndata:[DONE]", events: [event(1), done] },
  { name: "a byte-order mark", text: "\ufeffdata: 1\n\n", events: [event(1)] },
  { name: "blank lines first", text: "\n\r\n\ndata: 1\n\n", events: [event(1)] },
  { name: "null and empty data", text: "data: null\n\ndata:\n\ndata: \n\n", events: [event(null)] },
  { name: "nothing", text: "", events: [] },
  { name: "comments only", text: ": OPENROUTER PROCESSING\n\n: x\n\n", events: [] },
  { name: "what follows [DONE]", text: "data: [DONE]\n\ndata: 1\n\n", events: [done] },
  { name: "characters of every length", text: 'data: "é 你 😀"\n\n', events: [event("é 你 😀")] },
];

describe.each([1, 2, 3, 7, 1_000_000])("in chunks of %i bytes", (size) => {
  it.each(framings)("reads a stream with $name", async ({ text, events }) => {
    expect(await collect(reply({ chunks: split(text, size) }).response)).toEqual(events);
  });

  it.each([
    ["an object", '{"choices":[]}', { choices: [] }],
    ["an array behind white space", '\n [{"error":{}}]', [{ error: {} }]],
  ])("reads a whole JSON document instead of a stream: %s", async (_, text, data) => {
    const json = reply({ chunks: split(text, size), type: "application/json" });
    expect(await collect(json.response)).toEqual([{ kind: "whole", data }]);
    const lying = reply({ chunks: split(text, size) });
    expect(await collect(lying.response)).toEqual([{ kind: "whole", data }]);
  });

  it("refuses an HTML page and says its title", async () => {
    const html = "<!DOCTYPE html><html><head><title>Sign in\n to Wifi</title></head></html>";
    expect(await failure(collect(reply({ chunks: split(html, size) }).response))).toEqual({
      kind: "protocol",
      status: 200,
      transient: false,
      message:
        'acme answered 200 with an HTML page titled "Sign in to Wifi", not with a model\'s reply; check the base URL and the network',
    });
  });
});

it("reads whatever framing, wherever it is split", async () => {
  const line = fc.constantFrom("\n", "\r\n");
  const record = fc.record({
    data: fc.jsonValue() as fc.Arbitrary<JsonValue>,
    name: fc.option(fc.constantFrom("delta", "message_stop"), { nil: undefined }),
    eol: line,
    space: fc.constantFrom(" ", ""),
    comment: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(record), fc.array(fc.nat(400)), async (records, cuts) => {
      const text = records
        .map(({ data, name, eol, space, comment }) =>
          [
            comment ? `: keep-alive${eol}` : "",
            name === undefined ? "" : `event:${space}${name}${eol}`,
            `data:${space}${JSON.stringify(data)}${eol}${eol}`,
          ].join(""),
        )
        .join("");
      const bytes = Buffer.from(text);
      const borders = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort(
        (a, b) => a - b,
      );
      const chunks = borders.slice(1).map((end, i) => bytes.subarray(borders[i], end));
      expect(await collect(reply({ chunks }).response)).toEqual(
        records.map(({ data, name }) => event(JSON.parse(JSON.stringify(data)), name)),
      );
    }),
  );
});

it.each([
  ["data that is no JSON", 'data: {"a"\n\n', 'acme sent data that is not JSON: {"a"'],
  ["an event that is cut", 'data: 1\n\ndata: {"a":', 'acme sent data that is not JSON: {"a":'],
  ["a document that is cut", '{"a":', 'acme sent data that is not JSON: {"a":'],
  ["text", "upstream is busy\n", "acme sent text instead of an event stream: upstream is busy"],
])("refuses %s as a fault of the protocol that may pass", async (_, text, message) => {
  expect(await failure(collect(reply({ chunks: split(text, 5) }).response))).toEqual({
    kind: "protocol",
    transient: true,
    message,
  });
});

it("gives the events that came before the connection broke", async () => {
  const { url } = await serve((_, response) => {
    response.write("data: 1\n\n", () => response.socket?.resetAndDestroy());
  });
  const events = readServerEvents(await createFetch({ env: {} })(url), "acme");
  expect(await events.next()).toEqual({ done: false, value: event(1) });
  expect(await failure(events.next())).toEqual({
    kind: "network",
    transient: true,
    message: `the connection to ${new URL(url).host} broke (ECONNRESET)`,
  });
});

it.each([
  ["an error with a code", Object.assign(new Error("x"), { code: "ECONNRESET" }), "broke (ECONNRESET)"],
  ["any other error", new TypeError("terminated"), "broke: terminated"],
])("takes %s in the body for a broken connection", async (_, thrown, words) => {
  const { kind, message } = await failure(collect(reply({ chunks: [], thrown }).response));
  expect([kind, message]).toEqual(["network", `the connection to acme ${words}`]);
});

it("lets the reason of an abort through", async () => {
  const reason = { kind: "signal", signal: "SIGINT" };
  await expect(collect(reply({ chunks: [], thrown: reason }).response)).rejects.toBe(reason);
});

it("asks for no chunk before the events of the last one were taken", async () => {
  const { response, counts } = reply({ chunks: split("data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n", 18) });
  const events = readServerEvents(response, "acme");
  await events.next();
  await events.next();
  expect(counts.pulled).toBe(1);
  await events.next();
  expect(counts.pulled).toBe(2);
});

it("ends at [DONE] and closes a connection that the server holds open", async () => {
  const { url, server } = await serve((_, response) => void response.write("data: [DONE]\n\n"));
  const connected = once(server, "connection");
  const response = await createFetch({ env: {} })(url);
  const [socket] = await connected;
  const closed = once(socket, "close");
  expect(await collect(response)).toEqual([done]);
  await closed;
});

it("lets the connection go when the reader stops early", async () => {
  const { url, server } = await serve((_, response) => void response.write("data: 1\n\ndata: 2\n\n"));
  const connected = once(server, "connection");
  const events = readServerEvents(await createFetch({ env: {} })(url), "acme");
  const [socket] = await connected;
  const closed = once(socket, "close");
  await events.next();
  await events.return(undefined);
  await closed;
});

it("gives up a body that never falls silent", async () => {
  async function* endless() {
    for (;;) yield Buffer.from("data: 1\n\n");
  }
  let returned: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    returned = resolve;
  });
  const { response } = reply({ chunks: [] });
  const body = toReplyBody(endless(), returned);
  const events = readServerEvents({ ...response, body } as unknown as Response, "acme");
  await events.next();
  await events.return(undefined);
  await gone;
});

it("leaves the connection to the next request when the reply was read to its end", async () => {
  const { url, server } = await serve((_, response) => response.end("data: 1\n\ndata: [DONE]\n\n"));
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  const fetch = createFetch({ env: {} });
  for (let i = 0; i < 3; i++) {
    const response = await fetch(url);
    const ended = new Promise(setImmediate);
    await collect(response);
    await ended;
  }
  expect(connections).toBe(1);
});

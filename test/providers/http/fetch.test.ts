import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer as createNetServer, type Socket } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProviderError } from "../../../src/contract/errors.ts";
import type { ProviderInit } from "../../../src/providers/adapter.ts";
import { createFetch } from "../../../src/providers/http/fetch.ts";
import { proxyFor } from "../../../src/providers/http/proxy.ts";
import { withStatusCheck } from "../../../src/providers/http/status-check.ts";
import { listen, serve } from "../../support/loopback.ts";

const direct = () => createFetch({ env: {} });

async function readBody(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks).toString("base64");
}

async function failure(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ProviderError);
  const { kind, message, transient } = error as ProviderError;
  return { kind, message, transient };
}

const encodings: Record<string, (bytes: Buffer) => Buffer> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  br: (bytes) => brotliCompressSync(bytes),
};

it("does what the global fetch does", async () => {
  const exchange = fc.record({
    method: fc.constantFrom("GET", "POST", "PUT", "DELETE", "HEAD"),
    path: fc.webPath(),
    requestHeader: fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/),
    requestBody: fc.oneof(fc.string(), fc.uint8Array({ maxLength: 2000 })),
    cuts: fc.array(fc.nat(2000), { maxLength: 4 }),
    status: fc.constantFrom(200, 201, 204, 304, 400, 404, 429, 500, 529),
    responseHeader: fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/),
    encoding: fc.constantFrom("identity", "gzip", "deflate", "br"),
    chunks: fc.array(fc.uint8Array({ minLength: 1, maxLength: 500 }), { maxLength: 5 }),
    framed: fc.boolean(),
  });
  let answer: typeof exchange extends fc.Arbitrary<infer T> ? T : never;
  const seen: unknown[] = [];
  const { url } = await serve(async (request, response) => {
    const { method, url: path, headers } = request;
    seen.push({ method, path, sent: headers["x-sent"], body: await readBody(request) });
    const whole = Buffer.concat(answer.chunks);
    const encoded = encodings[answer.encoding]?.(whole) ?? whole;
    response.sendDate = false;
    response.writeHead(answer.status, {
      "x-got": answer.responseHeader,
      "x-two": ["a", "b"],
      "content-encoding": answer.encoding,
      connection: "close",
      ...(answer.framed && answer.status !== 204 && { "content-length": encoded.length }),
    });
    const half = Math.floor(encoded.length / 2);
    response.write(encoded.subarray(0, half));
    response.end(encoded.subarray(half));
  });
  const observe = async (response: Response) => ({
    status: response.status,
    ok: response.ok,
    url: response.url,
    headers: Object.fromEntries(response.headers.entries()),
    got: response.headers.get("X-Got"),
    has: [response.headers.has("X-GOT"), response.headers.has("x-none"), response.headers.get("x-none")],
    isNull: response.body === null,
    body: Buffer.from(await response.arrayBuffer()).toString("base64"),
  });
  await fc.assert(
    fc.asyncProperty(exchange, async (given) => {
      answer = given;
      const target = `${url}${given.path || "/"}`;
      const init: RequestInit = { method: given.method, headers: { "X-Sent": given.requestHeader } };
      if (!["GET", "HEAD"].includes(given.method)) init.body = given.requestBody;
      const inParts =
        init.body === undefined ? init : { ...init, body: toParts(given.requestBody, given.cuts) };
      const ours = await observe(await direct()(target, inParts));
      const theirs = await observe(await fetch(target, init));
      expect(ours).toEqual(theirs);
      expect(seen[0]).toEqual(seen[1]);
      seen.length = 0;
    }),
    { numRuns: 150 },
  );
});

/** As it is without cuts, otherwise the pieces between them. */
function toParts(body: string | Uint8Array<ArrayBuffer>, cuts: readonly number[]): ProviderInit["body"] {
  if (cuts.length === 0) return body;
  const bytes = Buffer.from(body);
  const borders = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return borders.slice(1).map((end, index) => bytes.subarray(borders[index], end));
}

it("sends more in parts than the connection takes at once", async () => {
  const { url } = await serve(async (request, response) => {
    const { "content-length": stated, "transfer-encoding": encoding } = request.headers;
    const bytes = Buffer.from(await readBody(request), "base64");
    response.end(JSON.stringify({ stated, encoding, sum: createHash("sha256").update(bytes).digest("hex") }));
  });
  const body = Array.from({ length: 300 }, (_, index) => Buffer.alloc(50_000, index));
  const response = await direct()(url, { method: "POST", body });
  const sum = createHash("sha256").update(Buffer.concat(body)).digest("hex");
  expect(await response.json()).toEqual({ stated: String(300 * 50_000), sum });
});

it("decompresses bare deflate", async () => {
  const { url } = await serve((_, response) => {
    response.setHeader("content-encoding", "deflate");
    response.end(deflateRawSync("hello"));
  });
  expect(await (await direct()(url)).text()).toBe("hello");
});

it("gives what a compressing server has flushed before the rest comes", async () => {
  const { url } = await serve((_, response) => {
    response.setHeader("content-encoding", "gzip");
    // Without its last eight bytes (checksum and length) the text is complete, the member is not.
    response.write(gzipSync("hello").subarray(0, -8));
  });
  const body = (await direct()(url)).body as unknown as AsyncIterableIterator<Uint8Array>;
  expect(Buffer.from((await body.next()).value ?? []).toString()).toBe("hello");
  await body.return?.();
});

it.each<[string, NonNullable<RequestInit["headers"]>]>([
  ["a record", { "X-A": "1" }],
  ["pairs", [["X-A", "1"]]],
  ["Headers", new Headers({ "X-A": "1" })],
])("takes headers as %s", async (_, headers) => {
  const { url } = await serve((request, response) => response.end(request.headers["x-a"]));
  expect(await (await direct()(url, { headers })).text()).toBe("1");
});

it("parses JSON, and takes a URL or what has one", async () => {
  const { url } = await serve((request, response) => response.end(JSON.stringify({ path: request.url })));
  expect(await (await direct()(new URL("/a", url))).json()).toEqual({ path: "/a" });
  expect(await (await direct()(new Request(`${url}/b`))).json()).toEqual({ path: "/b" });
});

describe("an abort rejects with its reason and closes the connection", () => {
  const reason = { kind: "signal", signal: "SIGINT" };

  it("before the request", async () => {
    let requests = 0;
    const { url } = await serve((_, response) => {
      requests += 1;
      response.end();
    });
    await expect(direct()(url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(requests).toBe(0);
  });

  it.each(["http", "https"])("while the way to a server is opened: %s", async (scheme) => {
    let connections = 0;
    const url = await listen(createNetServer(() => void connections++));
    const controller = new AbortController();
    const reply = direct()(url.replace("http", scheme), { signal: controller.signal });
    controller.abort(reason);
    await expect(reply).rejects.toBe(reason);
    expect(connections).toBe(0);
  });

  it("before the reply", async () => {
    const controller = new AbortController();
    const { url, server } = await serve(() => controller.abort(reason));
    const connected = once(server, "connection");
    const reply = direct()(url, { signal: controller.signal });
    const closed = connected.then(([socket]) => once(socket, "close"));
    await expect(reply).rejects.toBe(reason);
    await closed;
  });

  it.each(["while a chunk is awaited", "between two chunks"])("%s", async (when) => {
    const controller = new AbortController();
    const { url, server } = await serve((_, response) => void response.write("first"));
    const connected = once(server, "connection");
    const response = await direct()(url, { signal: controller.signal });
    const [socket] = await connected;
    const closed = once(socket, "close");
    const body = response.body as unknown as AsyncIterableIterator<Uint8Array>;
    expect(Buffer.from((await body.next()).value ?? []).toString()).toBe("first");
    const waiting = when === "between two chunks" ? undefined : body.next();
    controller.abort(reason);
    await expect(waiting ?? body.next()).rejects.toBe(reason);
    await closed;
  });
});

it("leaves no listener on a signal that outlives the request", async () => {
  const { url } = await serve((_, response) => response.end("ok"));
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...args);
  };
  await (await direct()(url, { signal })).text();
  await new Promise(setImmediate);
  expect(listeners).toBe(0);
});

describe("a connection that fails", () => {
  it("is refused", async () => {
    const closed = createNetServer();
    const url = await listen(closed);
    await new Promise((resolve) => closed.close(resolve));
    expect(await failure(direct()(url))).toEqual({
      kind: "network",
      transient: true,
      message: `cannot connect to ${new URL(url).host}: connection refused; is the server running?`,
    });
  });

  it.each(["before the reply", "in mid-body", "in a body of stated length"])("breaks %s", async (when) => {
    const { url } = await serve((request, response) => {
      if (when === "before the reply") request.socket.destroy();
      if (when === "in a body of stated length") response.setHeader("content-length", 100);
      if (when !== "before the reply") response.write("first", () => request.socket.destroy());
    });
    expect(await failure(direct()(url).then((response) => response.text()))).toEqual({
      kind: "network",
      transient: true,
      message: `the connection to ${new URL(url).host} broke (ECONNRESET)`,
    });
  });

  it("does not speak HTTP", async () => {
    const url = await listen(createNetServer((socket) => socket.end("SSH-2.0-x\r\n\r\n")));
    const { kind, message } = await failure(direct()(url));
    expect([kind, message]).toEqual(["protocol", expect.stringContaining("is not HTTP (HPE_")]);
  });

  it("turns the connection to another protocol", async () => {
    const head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n";
    const url = await listen(createNetServer((socket) => void socket.write(head)));
    const { kind, transient, message } = await failure(direct()(url));
    expect([kind, transient, message]).toEqual([
      "network",
      true,
      `${new URL(url).host} closed the connection without a reply`,
    ]);
  });

  it.each<[string, RequestInit, string]>([
    ["ftp://x.test/", {}, "cannot send a request to ftp: URLs"],
    ["http://127.0.0.1:9/", { headers: { a: "b\nc" } }, "cannot send the request to 127.0.0.1:9"],
  ])("cannot be made: %s", async (url, init, words) => {
    const { kind, message } = await failure(direct()(url, init));
    expect([kind, message]).toEqual(["invalid_request", expect.stringContaining(words)]);
  });
});

it("sends once more what met a kept connection that the server had closed", async () => {
  let requests = 0;
  const url = await listen(
    createNetServer((socket: Socket) => {
      let answered = false;
      socket.on("error", () => undefined);
      socket.on("data", () => {
        requests += 1;
        if (answered) socket.destroy();
        else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        answered = true;
      });
    }),
  );
  const fetch = direct();
  for (let i = 0; i < 3; i++) {
    expect(await (await fetch(url, { method: "POST", body: "{}" })).text()).toBe("ok");
    await new Promise(setImmediate);
  }
  expect(requests).toBeGreaterThan(3);
});

describe("redirects", () => {
  it.each<[string, RequestInit, number, string]>([
    ["GET 301", {}, 301, "GET /to null"],
    ["GET 307", {}, 307, "GET /to null"],
    ["POST 307", { method: "POST", body: "x" }, 307, "POST /to x"],
    ["POST 308", { method: "POST", body: "x" }, 308, "POST /to x"],
  ])("are followed for %s", async (_, init, status, expected) => {
    const { url } = await serve(async (request, response) => {
      const body = Buffer.from(await readBody(request), "base64").toString() || null;
      if (request.url === "/to") response.end(`${request.method} ${request.url} ${body}`);
      else response.writeHead(status, { location: "/to" }).end();
    });
    const response = await direct()(`${url}/from`, init);
    expect([await response.text(), response.url]).toEqual([expected, `${url}/to`]);
  });

  it.each([301, 302, 303])(
    "are not followed for POST %i, which would become another request",
    async (status) => {
      const { url } = await serve((_, response) =>
        response.writeHead(status, { location: "/to" }).end("moved"),
      );
      const response = await direct()(url, { method: "POST", body: "x" });
      expect([response.status, await response.text()]).toEqual([status, "moved"]);
    },
  );

  it("carry no credentials to another host", async () => {
    const other = await serve((request, response) => response.end(JSON.stringify(request.headers)));
    const { url } = await serve((_, response) => response.writeHead(302, { location: other.url }).end());
    const response = await direct()(url, {
      headers: { authorization: "Bearer k", "x-api-key": "k", accept: "a" },
    });
    expect(await response.json()).toEqual({
      accept: "a",
      "accept-encoding": "gzip, deflate, br",
      host: new URL(other.url).host,
      connection: "keep-alive",
    });
  });

  it("end when they go round", async () => {
    const { url } = await serve((_, response) => response.writeHead(302, { location: "/" }).end());
    expect(await failure(direct()(url))).toEqual({
      kind: "protocol",
      transient: false,
      message: `${new URL(url).host} redirects without end; check the base URL`,
    });
  });
});

describe("proxies", () => {
  const env = { HTTPS_PROXY: "http://p:1", http_proxy: "q:2" };

  it.each<[string, Record<string, string>, string, string | undefined]>([
    ["https by its variable", env, "https://api.test/v1", "http://p:1/"],
    ["http by its variable, without a scheme", env, "http://api.test/v1", "http://q:2/"],
    ["lower case first", { HTTP_PROXY: "http://a", http_proxy: "http://b" }, "http://x.test", "http://b/"],
    ["all", { ALL_PROXY: "http://a:3" }, "https://x.test", "http://a:3/"],
    ["none", {}, "https://x.test", undefined],
    ["an empty variable", { HTTPS_PROXY: " " }, "https://x.test", undefined],
    ["loopback by name", { HTTP_PROXY: "http://a" }, "http://localhost:8080/v1", undefined],
    ["loopback by number", { HTTP_PROXY: "http://a" }, "http://127.0.0.53:8080/v1", undefined],
    ["loopback by IPv6", { HTTP_PROXY: "http://a" }, "http://[::1]:8080/v1", undefined],
    ["an exempt host", { ...env, NO_PROXY: "a.test, api.test" }, "https://api.test", undefined],
    ["a subdomain", { ...env, no_proxy: "test" }, "https://api.test", undefined],
    ["a subdomain with a dot", { ...env, no_proxy: ".api.test" }, "https://eu.api.test", undefined],
    ["a subdomain with a star", { ...env, no_proxy: "*.api.test" }, "https://eu.api.test", undefined],
    ["a name that only ends alike", { ...env, no_proxy: "pi.test" }, "https://api.test", "http://p:1/"],
    ["an exempt port", { ...env, no_proxy: "api.test:443" }, "https://api.test", undefined],
    ["another port", { ...env, no_proxy: "api.test:8443" }, "https://api.test", "http://p:1/"],
    ["an IPv6 host", { ...env, no_proxy: "[fd00::1]" }, "https://[fd00::1]/", undefined],
    ["an IPv6 host without brackets", { ...env, no_proxy: "fd00::1" }, "https://[fd00::1]/", undefined],
    ["another IPv6 host", { ...env, no_proxy: "fd00::12" }, "https://[fd00::1]/", "http://p:1/"],
    ["everything exempt", { ...env, no_proxy: "*" }, "https://api.test", undefined],
  ])("%s", (_, variables, url, expected) => {
    expect(proxyFor(new URL(url), variables)?.href).toBe(expected);
  });

  it.each(["HTTPS_PROXY", "ALL_PROXY"])("in %s are refused when they are no HTTP proxies", async (name) => {
    const fetch = createFetch({ env: { [name]: "socks5://127.0.0.1:1" } });
    expect(await failure(fetch("https://api.test/"))).toEqual({
      kind: "invalid_request",
      transient: false,
      message: `the proxy in ${name} is not an http URL; set it to http://host:port or unset it`,
    });
  });

  it("are sent the whole URL of a plain request", async () => {
    const { url } = await serve(async (request, response) => {
      const { method, url: target, headers } = request;
      const body = await readBody(request);
      response.end(JSON.stringify([method, target, headers.host, headers["proxy-authorization"], body]));
    });
    const proxy = url.replace("//", "//user:p%40ss@");
    const fetch = createFetch({ env: { HTTP_PROXY: proxy } });
    const response = await fetch("http://api.test:81/v1?a=b", { method: "POST", body: "x" });
    expect(await response.json()).toEqual([
      "POST",
      "http://api.test:81/v1?a=b",
      "api.test:81",
      `Basic ${btoa("user:p@ss")}`,
      btoa("x"),
    ]);
  });

  it("are asked for a tunnel to an https host, in which TLS starts", async () => {
    const { url, server } = await serve(() => undefined);
    const asked = new Promise((resolve) => {
      server.on("connect", (request, socket: Socket) => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.once("data", (hello) => {
          resolve([request.url, request.headers["proxy-authorization"], hello[0]]);
          socket.destroy();
        });
      });
    });
    const fetch = createFetch({ env: { https_proxy: url.replace("//", "//user:pass@") } });
    const { kind } = await failure(fetch("https://api.test/v1"));
    const tlsHandshake = 0x16;
    expect([await asked, kind]).toEqual([
      ["api.test:443", `Basic ${btoa("user:pass")}`, tlsHandshake],
      "network",
    ]);
  });

  it("say why they refuse a tunnel", async () => {
    const { url, server } = await serve(() => undefined);
    server.on("connect", (_, socket) => socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"));
    const fetch = createFetch({ env: { HTTPS_PROXY: url } });
    expect(await failure(fetch("https://api.test/v1"))).toEqual({
      kind: "network",
      transient: false,
      message: `the proxy ${new URL(url).host} refused the connection: 407 Proxy Authentication Required; put user:password@ into the proxy variable`,
    });
  });

  it("leave no tunnel behind when the request is aborted", async () => {
    const { url, server } = await serve(() => undefined);
    const controller = new AbortController();
    const closed = new Promise((resolve) => {
      server.on("connect", (_, socket) => {
        socket.on("end", resolve);
        socket.on("error", () => undefined);
        socket.resume();
        controller.abort("stop");
      });
    });
    const fetch = createFetch({ env: { HTTPS_PROXY: url } });
    await expect(fetch("https://api.test/v1", { signal: controller.signal })).rejects.toBe("stop");
    await closed;
  });
});

describe("the status check", () => {
  it("lets 2xx through and throws for the rest, with what the body says", async () => {
    const { url } = await serve((request, response) => {
      const status = Number(request.url?.slice(1));
      response.writeHead(status, { "retry-after": "3" }).end(JSON.stringify({ error: { message: "why" } }));
    });
    const fetch = withStatusCheck(direct(), "acme");
    expect((await fetch(`${url}/201`)).status).toBe(201);
    const error = await fetch(`${url}/429`).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      kind: "rate_limit",
      status: 429,
      retryAfterMs: 3000,
      message: "acme answered 429 Too Many Requests: why (try again in 3 s)",
    });
  });

  it("reads no more of an endless body than it shows", async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(500);
      const more = () => {
        while (response.write("x".repeat(10_000)));
      };
      response.on("drain", more);
      more();
    });
    const { message } = await failure(withStatusCheck(direct(), "acme")(url));
    expect(message.length).toBeLessThan(400);
  });

  it("keeps the status when the body breaks", async () => {
    const { url } = await serve((request, response) => {
      response.writeHead(503).write("upstream", () => request.socket.destroy());
    });
    expect(await failure(withStatusCheck(direct(), "acme")(url))).toEqual({
      kind: "overloaded",
      transient: true,
      message: "acme answered 503 Service Unavailable: upstream",
    });
  });
});

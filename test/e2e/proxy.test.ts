import { request } from "node:http";
import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { serve } from "../support/loopback.ts";
import { createBench } from "../support/with-provider.ts";

/** A proxy that sends all it is asked for to one server, whatever the host, and opens no tunnel. */
async function startProxy(target: string) {
  const asked: string[] = [];
  const { hostname, port } = new URL(target);
  const { url, server } = await serve((incoming, outgoing) => {
    const { method = "", url = "", headers } = incoming;
    asked.push(`${method} ${url} ${headers["proxy-authorization"] ?? "-"} ${headers.host}`);
    const path = new URL(url).pathname;
    const forward = request({ hostname, port, method, path, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
    });
    incoming.pipe(forward);
  });
  server.on("connect", (tunnel, socket) => {
    asked.push(`CONNECT ${tunnel.url}`);
    socket.end("HTTP/1.1 403 Not Allowed\r\n\r\n");
  });
  return { host: new URL(url).host, asked };
}

async function createProxied(baseUrl: string) {
  const bench = await createBench([chatReply({ text: "done" })], { provider: { baseUrl } });
  bench.workspace.homeFile("settings.json", { retry: { enabled: false } });
  return { ...bench, proxy: await startProxy(bench.server.url) };
}

test.each([
  ["HTTP_PROXY", "", ""],
  ["http_proxy", "", ""],
  ["ALL_PROXY", "", ""],
  ["HTTP_PROXY", "user:pass%40word@", "user:pass@word"],
  ["HTTP_PROXY", "user:50%off@", "user:50%off"],
])("%s (with %j) takes requests to hosts that only the proxy knows", async (variable, user, sent) => {
  const { run, server, proxy } = await createProxied("http://made-up.test/v1");
  const env = { [variable]: `http://${user}${proxy.host}` };
  expect(await run(["hi"], { env })).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
  const proof = user === "" ? "-" : `Basic ${Buffer.from(sent).toString("base64")}`;
  expect(proxy.asked).toEqual([`POST http://made-up.test/v1/chat/completions ${proof} made-up.test`]);
  expect(server.requests).toHaveLength(1);
});

test.each(["HTTPS_PROXY", "https_proxy"])("%s tunnels requests to https hosts", async (variable) => {
  const { run, proxy } = await createProxied("https://made-up.test/v1");
  const result = await run(["hi"], { env: { [variable]: `http://${proxy.host}` } });
  expect(result).toMatchObject({ status: 1, stdout: "" });
  expect(result.stderr).toMatch(
    /^base-context: the proxy 127[^\n]* refused the connection: 403 Not Allowed[^\n]*\n$/,
  );
  expect(proxy.asked).toEqual(["CONNECT made-up.test:443"]);
});

test("loopback is reached directly", async () => {
  const { run, proxy, server } = await createProxied("http://127.0.0.1:1/v1");
  const { workspace } = await createBench([]);
  workspace.homeFile("models.json", {
    providers: { fake: { baseUrl: `${server.url}/v1`, models: [{ id: "m" }] } },
  });
  const proxies = { HTTP_PROXY: `http://${proxy.host}`, HTTPS_PROXY: `http://${proxy.host}` };
  expect(await run(["hi"], { env: proxies, workspace })).toMatchObject({ status: 0, stdout: "done\n" });
  expect(proxy.asked).toEqual([]);
});

test.each(["made-up.test", ".test", "*", "other.test, made-up.test:80"])(
  "NO_PROXY=%s goes around the proxy",
  async (exempt) => {
    const { run, proxy } = await createProxied("http://made-up.test/v1");
    const env = { HTTP_PROXY: `http://${proxy.host}`, NO_PROXY: exempt };
    const result = await run(["hi"], { env, timeoutMs: 18_000 });
    expect(result).toMatchObject({ status: 1, stdout: "" });
    expect(result.stderr).toMatch(/^base-context: cannot connect to [^\n]*made-up\.test[^\n]*\n$/);
    expect(proxy.asked).toEqual([]);
  },
);

test("a proxy that is no URL of one is told of", async () => {
  const { run } = await createProxied("http://made-up.test/v1");
  const result = await run(["hi"], { env: { HTTP_PROXY: "socks5://127.0.0.1:1" } });
  expect(result).toMatchObject({ status: 1, stdout: "" });
  expect(result.stderr).toMatch(/^base-context: the proxy in HTTP_PROXY is not an http URL[^\n]*\n$/);
});

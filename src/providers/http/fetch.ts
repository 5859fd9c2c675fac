import { Agent, type AgentOptions, type ClientRequest, type IncomingMessage, request } from "node:http";
import { errorMessage, ProviderError } from "../../contract/errors.ts";
import type { ProviderFetch, ProviderInit, RequestBody } from "../adapter.ts";
import { decompress } from "./decompress.ts";
import { toNetworkError } from "./network-error.ts";
import { createTunnelAgent, forwardOptions, proxyFor } from "./proxy.ts";
import { type ReplyBody, toReplyBody, toResponse } from "./reply.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Makes a fetch over node:http and node:https. Connections are kept for the next request and never keep
 * the process alive; proxies come from `env`; redirects are followed where the request can be repeated; bodies are
 * decompressed and read only as far as they are asked for. An abort of `init.signal`, at any moment, rejects with its
 * reason and closes the connection; what else goes wrong is thrown as a ProviderError of kind `network` or `protocol`.
 */
export function createFetch(options: { readonly env: Env }): ProviderFetch {
  const routes = createRoutes(options.env);
  return async (input, init = {}) => {
    const signal = init.signal ?? undefined;
    signal?.throwIfAborted();
    let call = toCall(input, init);
    for (let hop = 0; ; hop++) {
      const message = await sendTwice(call, routes, signal);
      const next = redirect(call, message);
      if (next === undefined) return toReply(call, message, signal);
      message.destroy();
      if (hop === maxRedirects) {
        throw new ProviderError("protocol", `${call.url.host} redirects without end; check the base URL`, {
          transient: false,
        });
      }
      call = next;
    }
  };
}

const maxRedirects = 10;

type Call = {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody | undefined;
};

function toCall(input: string | URL | Request, init: ProviderInit): Call {
  const url = new URL(typeof input === "object" && "url" in input ? input.url : String(input));
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ProviderError("invalid_request", `cannot send a request to ${url.protocol} URLs`);
  }
  const body = toParts(init.body);
  const headers = {
    "accept-encoding": "gzip, deflate, br",
    ...toRecord(init.headers),
    // Node states the length for some methods only.
    ...(body !== undefined && { "content-length": String(body.reduce((sum, part) => sum + part.length, 0)) }),
  };
  return { url, method: init.method?.toUpperCase() ?? "GET", headers, body };
}

function toParts(body: ProviderInit["body"]): RequestBody | undefined {
  if (body === undefined || body === null) return undefined;
  if (Array.isArray(body)) return body;
  // For a text Node would set three times its size aside.
  if (typeof body === "string") return [Buffer.from(body)];
  if (body instanceof Uint8Array) return [body];
  throw new TypeError("the body of a request must be a string or bytes");
}

function toRecord(headers: RequestInit["headers"]): Record<string, string> {
  if (headers === undefined || headers === null) return {};
  const pairs =
    Symbol.iterator in headers ? [...(headers as Iterable<readonly string[]>)] : Object.entries(headers);
  return Object.fromEntries(pairs.map(([name, value]) => [String(name).toLowerCase(), String(value)]));
}

/** A server may close a kept connection just when it is used again: a request that died so is sent once more. */
async function sendTwice(call: Call, routes: Routes, signal?: AbortSignal): Promise<IncomingMessage> {
  const first = await send(call, await routes(call.url, "kept"), signal);
  if (!("stale" in first)) return first;
  const second = await send(call, await routes(call.url, "fresh"), signal);
  if ("stale" in second) throw second.stale;
  return second;
}

/** Resolves with the head of the reply, or with the error of a kept connection that broke before any byte of it. */
function send(
  call: Call,
  route: Route,
  signal?: AbortSignal,
): Promise<IncomingMessage | { stale: ProviderError }> {
  return new Promise((resolve, reject) => {
    // Opening the route took a while: an abort in it has no listener yet.
    signal?.throwIfAborted();
    let sent: ClientRequest;
    const onAbort = () => {
      reject(signal?.reason);
      sent.destroy();
    };
    // A connection that the server turns to another protocol is closed without a word.
    const onClose = () => {
      settle();
      reject(new ProviderError("network", `${call.url.host} closed the connection without a reply`));
    };
    const settle = () => {
      signal?.removeEventListener("abort", onAbort);
      sent.off("close", onClose);
    };
    try {
      sent = route(call, signal);
    } catch (thrown) {
      reject(toFetchError(thrown, call.url));
      return;
    }
    signal?.addEventListener("abort", onAbort, { once: true });
    sent.once("response", (message) => {
      settle();
      resolve(message);
    });
    sent.on("error", (thrown) => {
      settle();
      const error = toFetchError(thrown, call.url);
      if (sent.reusedSocket && staleCodes.has(error.code ?? "")) resolve({ stale: error });
      else reject(error);
    });
    sent.once("close", onClose);
    const { body = [] } = call;
    sent.cork();
    for (const part of body.slice(0, -1)) sent.write(part);
    sent.end(body.at(-1));
  });
}

const staleCodes: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE"]);

function toFetchError(thrown: unknown, url: URL): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  const network = toNetworkError(thrown, url.host);
  if (network !== undefined) return network;
  return new ProviderError(
    "invalid_request",
    `cannot send the request to ${url.host}: ${errorMessage(thrown)}`,
  );
}

/** The request that a redirect asks for; undefined when there is none or it cannot be followed. */
function redirect(call: Call, message: IncomingMessage): Call | undefined {
  const status = message.statusCode ?? 0;
  const { location } = message.headers;
  if (!redirectStatuses.has(status) || location === undefined || !URL.canParse(location, call.url.href)) {
    return undefined;
  }
  const url = new URL(location, call.url);
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  const sameOrSafer = url.protocol === call.url.protocol || url.protocol === "https:";
  const isSame = url.host === call.url.host && sameOrSafer;
  // A conversation goes to no other server, and not in the clear where it was to be encrypted.
  if (call.method !== "GET" && !(status >= 307 && isSame)) return undefined;
  if (isSame) return { ...call, url };
  // Another host gets no credentials.
  const headers = Object.entries(call.headers).filter(([name]) => plainHeaders.has(name));
  return { ...call, url, headers: Object.fromEntries(headers) };
}

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const plainHeaders: ReadonlySet<string> = new Set(["accept", "accept-encoding", "user-agent"]);

function toReply(call: Call, message: IncomingMessage, signal: AbortSignal | undefined): Response {
  const status = message.statusCode ?? 0;
  const empty = call.method === "HEAD" || status === 204 || status === 205 || status === 304;
  if (empty) message.resume();
  return toResponse({
    status,
    statusText: message.statusMessage ?? "",
    url: call.url.href,
    headers: toHeaderMap(message),
    body: empty ? null : readBody(call.url, message, signal),
  });
}

function toHeaderMap(message: IncomingMessage): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    if (values !== undefined) headers.set(name, values.join(", "));
  }
  return headers;
}

function readBody(url: URL, message: IncomingMessage, signal: AbortSignal | undefined): ReplyBody {
  const onAbort = () => message.destroy();
  signal?.addEventListener("abort", onAbort, { once: true });
  message.once("close", () => signal?.removeEventListener("abort", onAbort));
  // Without a listener a connection that breaks between two reads would end the process.
  message.on("error", () => undefined);
  return toReplyBody(readChunks(url, message, signal), () => message.destroy());
}

async function* readChunks(
  url: URL,
  message: IncomingMessage,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    signal?.throwIfAborted();
    yield* await decompress(message);
  } catch (thrown) {
    if (signal?.aborted) throw signal.reason;
    throw toFetchError(thrown, url);
  } finally {
    // A reply that was read to its end leaves its connection to the next request.
    message.destroy();
  }
}

/** Starts a request on its way: direct or through a proxy. */
type Route = (call: Call, signal?: AbortSignal) => ClientRequest;
/** Gives the way to a URL, over a kept connection where there is one, or over a fresh one. */
type Routes = (url: URL, age: "kept" | "fresh") => Promise<Route>;

function createRoutes(env: Env): Routes {
  const routes = new Map<string, Promise<Route>>();
  return (url, age) => {
    const proxy = proxyFor(url, env);
    const key = `${age} ${url.protocol} ${proxy?.href ?? ""}`;
    const route = routes.get(key) ?? openRoute(url.protocol, proxy, { keepAlive: age === "kept" });
    routes.set(key, route);
    return route;
  };
}

async function openRoute(protocol: string, proxy: URL | undefined, options: AgentOptions): Promise<Route> {
  if (protocol === "http:" && proxy?.protocol !== "https:") {
    const agent = new Agent(options);
    if (proxy === undefined) return ({ url, method, headers }) => request(url, { method, headers, agent });
    return ({ url, method, headers }) => request({ ...forwardOptions(proxy, url, headers), method, agent });
  }
  const https = await import("node:https");
  if (protocol === "http:" && proxy !== undefined) {
    const agent = new https.Agent(options);
    return ({ url, method, headers }) =>
      https.request({ ...forwardOptions(proxy, url, headers), method, agent });
  }
  const agent = proxy === undefined ? new https.Agent(options) : await createTunnelAgent(proxy, options);
  return ({ url, method, headers }, tunnelSignal) =>
    https.request(url, { method, headers, agent, ...(tunnelSignal !== undefined && { tunnelSignal }) });
}

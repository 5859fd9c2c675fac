import { type AgentOptions, type RequestOptions, request } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { Duplex } from "node:stream";
import { ProviderError } from "../../contract/errors.ts";
import { oneLine } from "../errors/error-body.ts";
import { addressSecrets, decodePart } from "./address.ts";
import { toNetworkError } from "./network-error.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment names for a URL: `HTTPS_PROXY` or `HTTP_PROXY` by its scheme, else `ALL_PROXY`, unless
 * `NO_PROXY` names its host; each in either case, lower case first. Loopback hosts are always reached directly.
 * Throws a ProviderError when the variable holds no URL of an HTTP proxy.
 */
export function proxyFor(url: URL, env: Env): URL | undefined {
  const scheme = url.protocol === "https:" ? "https_proxy" : "http_proxy";
  const name = variable(env, scheme) === undefined ? "all_proxy" : scheme;
  const value = variable(env, name);
  if (value === undefined || isLoopback(url.hostname) || isExempt(url, variable(env, "no_proxy"))) {
    return undefined;
  }
  const proxy = parseProxy(value);
  if (proxy?.protocol === "http:" || proxy?.protocol === "https:") return proxy;
  throw new ProviderError(
    "invalid_request",
    `the proxy in ${name.toUpperCase()} is not an http URL; set it to http://host:port or unset it`,
  );
}

/** The credentials of the proxies that the environment names. */
export function proxySecrets(env: Env): string[] {
  return ["https_proxy", "http_proxy", "all_proxy"].flatMap((name) =>
    [env[name], env[name.toUpperCase()]].flatMap((value) =>
      value?.trim() ? addressSecrets(withScheme(value.trim())) : [],
    ),
  );
}

/** Request options that send a plain http request to the proxy, for the target's whole URL. */
export function forwardOptions(
  proxy: URL,
  target: URL,
  headers: Readonly<Record<string, string>>,
): RequestOptions {
  return {
    ...proxyAddress(proxy),
    path: target.href,
    headers: { ...headers, host: target.host, ...authorization(proxy) },
  };
}

/** An https agent whose connections go through a CONNECT tunnel. */
export async function createTunnelAgent(proxy: URL, options: AgentOptions): Promise<HttpsAgent> {
  const [{ Agent }, { connect }] = await Promise.all([import("node:https"), import("node:tls")]);
  const agent = new Agent(options);
  const direct = agent as unknown as TunnelConnector;
  direct.createConnection = (target, callback) => {
    openTunnel(proxy, target).then(
      (socket) => callback(null, connect({ ...tlsNames(target), socket })),
      (error: unknown) => callback(error),
    );
    return undefined;
  };
  return agent;
}

/** What Node documents of an agent and its types leave out: a connection may also be given later, to the callback. */
type TunnelConnector = {
  createConnection: (target: TunnelTarget, callback: (error: unknown, socket?: Duplex) => void) => undefined;
};
type TunnelTarget = {
  readonly host: string;
  readonly port: number;
  readonly servername?: string;
  /** The request's (Node keeps the one named `signal` to itself): an aborted request must not leave a tunnel behind. */
  readonly tunnelSignal?: AbortSignal;
};

function tlsNames({ host, servername }: TunnelTarget) {
  return { host, ...(servername !== undefined && { servername }) };
}

async function openTunnel(proxy: URL, { host, port, tunnelSignal }: TunnelTarget): Promise<Duplex> {
  const send = proxy.protocol === "https:" ? (await import("node:https")).request : request;
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    const tunnel = send({
      ...proxyAddress(proxy),
      agent: false,
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...authorization(proxy) },
      ...(tunnelSignal !== undefined && { signal: tunnelSignal }),
    });
    tunnel.once("connect", (reply, socket) => {
      if (reply.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(refusal(proxy, reply.statusCode ?? 0, reply.statusMessage ?? ""));
    });
    tunnel.once("error", (error) => {
      reject(toNetworkError(error, `the proxy ${proxy.host}`) ?? error);
    });
    tunnel.end();
  });
}

function refusal(proxy: URL, status: number, statusText: string): ProviderError {
  const words = oneLine(`${status} ${statusText}`, 80);
  const advice = status === 407 ? "put user:password@ into the proxy variable" : "check the proxy variables";
  return new ProviderError("network", `the proxy ${proxy.host} refused the connection: ${words}; ${advice}`, {
    status,
    transient: status >= 500,
  });
}

function proxyAddress(proxy: URL): RequestOptions {
  const port = proxy.port || (proxy.protocol === "https:" ? 443 : 80);
  return { protocol: proxy.protocol, host: proxy.hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
}

function authorization(proxy: URL): Record<string, string> {
  if (proxy.username === "" && proxy.password === "") return {};
  const user = `${decodePart(proxy.username)}:${decodePart(proxy.password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` };
}

function parseProxy(value: string): URL | undefined {
  const text = withScheme(value);
  return URL.canParse(text) ? new URL(text) : undefined;
}

function withScheme(value: string): string {
  return value.includes("://") ? value : `http://${value}`;
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0)$/i.test(hostname);
}

/** `NO_PROXY`: hosts, their subdomains (with or without a leading dot or star), each with a port or without; `*` is all. */
function isExempt(url: URL, list: string | undefined): boolean {
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  const names = (list ?? "")
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((name) => name !== "");
  return names.some((name) => {
    if (name === "*") return true;
    const [, host = "", onlyPort] = /^(\[.+\]|[^:]+|.*:.*:.*?)(?::(\d+))?$/.exec(name) ?? [];
    if (onlyPort !== undefined && onlyPort !== port) return false;
    // IPv6 is written with brackets in a URL, here more often without.
    const bare = /^[^[].*:/.test(host) ? `[${host}]` : host.replace(/^\*?\./, "");
    return bare !== "" && (url.hostname === bare || url.hostname.endsWith(`.${bare}`));
  });
}

function variable(env: Env, name: string): string | undefined {
  return env[name]?.trim() || env[name.toUpperCase()]?.trim() || undefined;
}

import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One scripted answer of the provider. */
export type ScriptedReply = {
  status?: number;
  /** Content type; an event stream when absent. */
  type?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** The body in hex, instead of `body`. */
  hex?: string;
  /** Byte offsets at which the body is cut into writes. */
  split?: readonly number[];
  /** Milliseconds between two writes. */
  gapMs?: number;
  /** Milliseconds before the head. */
  waitMs?: number;
  /** How the reply ends after its body; `close` when absent. */
  end?: "close" | "reset" | "hang";
  /** Sends a comment each so many milliseconds after the body, for ever. */
  beatMs?: number;
};

export type LoggedRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** A request's JSON, loosely typed: tests look at what they test. */
// biome-ignore lint/suspicious/noExplicitAny: tests reach deep into requests of every API
export type RequestJson = Record<string, any>;

export type ProviderServer = {
  /** `http://127.0.0.1:PORT`, without a path. */
  readonly url: string;
  readonly requests: readonly LoggedRequest[];
  /** The JSON of a request's body; a negative number counts from the last. Throws when there was no such request. */
  json(index: number): RequestJson;
  /** Resolves when so many requests have arrived. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
};

/** A reply, or what makes one from the request. */
export type Script = ScriptedReply | ((request: LoggedRequest, index: number) => ScriptedReply);

/** Serves scripted replies on loopback, one a request; the last one repeats. */
export async function startProvider(script: readonly Script[]): Promise<ProviderServer> {
  const requests: LoggedRequest[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts).toString("utf8");
      const { method = "", url = "", headers } = request;
      const logged: LoggedRequest = { method, url, headers, body };
      requests.push(logged);
      for (const { count, resolve } of waiting) if (requests.length >= count) resolve();
      const step = script[Math.min(requests.length, script.length) - 1] ?? { status: 500, body: "no script" };
      void reply(response, typeof step === "function" ? step(logged, requests.length - 1) : step);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    json(index) {
      const request = requests.at(index);
      if (request === undefined) throw new Error(`there was no request ${index}, only ${requests.length}`);
      return JSON.parse(request.body);
    },
    received: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close: () => stop(server),
  };
}

async function reply(response: ServerResponse, step: ScriptedReply): Promise<void> {
  const bytes = step.hex === undefined ? Buffer.from(step.body ?? "") : Buffer.from(step.hex, "hex");
  await nap(step.waitMs ?? 0);
  response.writeHead(step.status ?? 200, {
    "content-type": step.type ?? "text/event-stream",
    ...step.headers,
  });
  response.flushHeaders();
  let at = 0;
  for (const cut of [...(step.split ?? []), bytes.length]) {
    if (cut <= at) continue;
    const room = response.write(bytes.subarray(at, cut));
    at = cut;
    if (step.gapMs !== undefined) await nap(step.gapMs);
    else if (!room)
      await new Promise((resolve) => response.once("drain", resolve).once("close", () => resolve(undefined)));
    if (response.destroyed) return;
  }
  if (step.beatMs !== undefined) {
    const timer = setInterval(() => response.write(": keep-alive\n\n"), step.beatMs);
    response.on("close", () => clearInterval(timer));
  } else if (step.end === "reset") {
    await new Promise((resolve) => setImmediate(resolve));
    response.socket?.destroy();
  } else if (step.end !== "hang") response.end();
}

function nap(ms: number): Promise<void> {
  return ms === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

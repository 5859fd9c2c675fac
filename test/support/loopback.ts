import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Server as NetServer } from "node:net";
import { onTestFinished } from "vitest";

/** Starts an HTTP server on a free loopback port for the running test; gives its base URL. */
export async function serve(listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(listener);
  const url = await listen(server);
  onTestFinished(() => server.closeAllConnections());
  return { url, server };
}

/** Lets a server listen on a free loopback port until the running test is over; gives its base URL. */
export async function listen(server: NetServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listen } from "../support/loopback.ts";
import { createBench } from "../support/with-provider.ts";

const tlsHandshake = 0x16;

test.skipIf(spawnSync("openssl", ["version"]).status !== 0)(
  "a conversation that was to be encrypted follows no redirect to where it is not",
  async () => {
    const { runBare, workspace } = await createBench([]);
    const [key, cert] = [join(workspace.home, "key.pem"), join(workspace.home, "cert.pem")];
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
    const files = ["-keyout", key, "-out", cert];
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...names, ...files], {
      stdio: "ignore",
    });
    let plain = 0;
    const insecure = createHttpServer((_, response) => {
      plain++;
      response.end();
    });
    const secure = createHttpsServer(
      { key: readFileSync(key), cert: readFileSync(cert) },
      ({ headers, url }, response) =>
        response.writeHead(307, { location: `http://${headers.host}${url}` }).end(),
    );
    // One port that speaks both, so that the redirect is to the same host.
    const both = createServer((socket) =>
      socket.once("data", (first) => {
        socket.pause();
        socket.unshift(first);
        (first[0] === tlsHandshake ? secure : insecure).emit("connection", socket);
        process.nextTick(() => socket.resume());
      }),
    );
    const baseUrl = (await listen(both)).replace("http:", "https:");
    workspace.homeFile("models.json", { providers: { fake: { baseUrl, models: [{ id: "m" }] } } });
    const { status, stderr } = await runBare(["--model", "fake/m", "hi"], {
      env: { NODE_EXTRA_CA_CERTS: cert },
    });
    expect({ status, plain }).toEqual({ status: 1, plain: 0 });
    expect(stderr).toMatch(/^base-context: fake answered 307 [^\n]*: a redirect to http:[^\n]*\n$/);
  },
);

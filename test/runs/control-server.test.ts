import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ControlServer, openControlServer } from "../../src/runs/control-server.ts";
import { toLines } from "../../src/runs/follow-log.ts";
import { parseCommand } from "../../src/runs/rpc/command.ts";
import { createDeltaSink } from "../../src/sinks/deltas.ts";
import { bundleProgram } from "../support/program.ts";
import { sampleHeader } from "../support/sample-run.ts";

let folder: string;
let path: string;
let server: ControlServer | undefined;
const clients: Socket[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "base-context-socket-"));
  path = join(folder, "control.sock");
});

afterEach(() => {
  server?.close();
  for (const client of clients.splice(0)) client.destroy();
  rmSync(folder, { recursive: true });
});

/** A server whose commands answer with their type; `abort` never does. */
async function open(): Promise<ControlServer> {
  server = await openControlServer({
    socket: path,
    connect: async (send) => ({
      async handle(line) {
        const parsed = parseCommand(line);
        if (!parsed.ok) send(parsed.failure);
        else if (parsed.command.type === "abort") await new Promise(() => undefined);
        else send({ type: "response", command: parsed.command.type, success: false, error: "no run" });
      },
      refuse: (kind) => send({ type: "response", command: "parse", success: false, error: kind }),
      idle: () => Promise.resolve(),
    }),
    watch(write) {
      const sink = createDeltaSink({
        writer: {
          write,
          writeParts: () => undefined,
          flush: () => undefined,
          ready: () => Promise.resolve(),
          close: () => Promise.resolve(),
        },
      });
      sink.header(sampleHeader);
      return sink;
    },
  });
  return server;
}

async function enter(): Promise<{
  socket: Socket;
  lines: AsyncGenerator<string>;
  next: () => Promise<unknown>;
}> {
  const socket = connect(path);
  clients.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  const lines = toLines(socket);
  const next = async () => {
    const { value, done } = await lines.next();
    return done === true ? "end" : JSON.parse(value);
  };
  return { socket, lines, next };
}

const attached = { type: "response", command: "attach", success: true };

test("a socket is its user's alone, and takes the place of what a dead run left", async () => {
  writeFileSync(path, "");
  await open();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(path).isSocket()).toBe(true);
});

test("a socket is there only once it takes clients", async () => {
  const opening = open();
  expect(readdirSync(folder)).not.toContain("control.sock");
  await opening;
  expect(readdirSync(folder)).toEqual(["control.sock"]);
  await enter();
});

test("a server whose folder has moved leaves the socket that another one has there by now", async () => {
  const { close } = await open();
  renameSync(folder, `${folder}-moved`);
  mkdirSync(folder);
  await open();
  close();
  await enter();
  rmSync(`${folder}-moved`, { recursive: true });
});

test("every client that attaches sees each event, whoever comes and goes beside it", async () => {
  const { tell } = await open();
  const [one, two, idle] = [await enter(), await enter(), await enter()];
  for (const { socket, next } of [one, two]) {
    socket.write('{"type":"attach","id":1}\n');
    expect(await next()).toEqual({ ...attached, id: 1 });
    expect(await next()).toEqual(sampleHeader);
  }
  tell(({ emit }) => emit({ type: "turn_start" }));
  expect([await one.next(), await two.next()]).toEqual([{ type: "turn_start" }, { type: "turn_start" }]);
  one.socket.destroy();
  await setImmediate();
  tell(({ emit }) => emit({ type: "agent_start" }));
  expect(await two.next()).toEqual({ type: "agent_start" });
  idle.socket.write('{"type":"get_state"}\n');
  expect(await idle.next()).toMatchObject({ command: "get_state" });
});

test("attaching twice shows nothing twice", async () => {
  const { tell } = await open();
  const { socket, next } = await enter();
  socket.write('{"type":"attach"}\n{"type":"attach"}\n');
  expect([await next(), await next(), await next()]).toEqual([attached, sampleHeader, attached]);
  tell(({ emit }) => emit({ type: "turn_start" }));
  tell(({ emit }) => emit({ type: "agent_start" }));
  expect([await next(), await next()]).toEqual([{ type: "turn_start" }, { type: "agent_start" }]);
});

test("a client that does not read is dropped when too much waits for it; others go on", async () => {
  const { tell } = await open();
  const reader = await enter();
  const deaf = connect(path).pause();
  clients.push(deaf);
  deaf.write('{"type":"attach"}\n');
  reader.socket.write('{"type":"attach"}\n');
  expect([await reader.next(), await reader.next()]).toEqual([attached, sampleHeader]);
  const event = {
    type: "message_end" as const,
    message: { role: "user" as const, content: "x".repeat(1_000_000), timestamp: 1 },
  };
  for (let count = 0; count < 20; count++) {
    tell(({ emit }) => emit(event));
    expect(await reader.next()).toEqual(event);
  }
  let received = 0;
  deaf.on("error", () => undefined);
  deaf.on("data", (chunk: Buffer) => {
    received += chunk.length;
  });
  deaf.resume();
  await once(deaf, "close");
  expect(received).toBeLessThan(20_000_000);
  tell(({ emit }) => emit({ type: "agent_start" }));
  expect(await reader.next()).toEqual({ type: "agent_start" });
});

describe("lines", () => {
  test("that are no commands are answered, however long", async () => {
    await open();
    const { socket, next } = await enter();
    socket.write(
      Buffer.concat([Buffer.alloc(65 * 1024 * 1024, "x"), Buffer.from('\n\xff\n"attach"\n', "latin1")]),
    );
    expect([await next(), await next(), await next()]).toMatchObject([
      { success: false, error: "too_long" },
      { success: false, error: "not_utf8" },
      { command: "parse", success: false },
    ]);
  });

  test("that hold the word attach elsewhere are ordinary commands", async () => {
    await open();
    const { socket, next } = await enter();
    socket.write('{"type":"steer","message":"\\"attach\\""}\n');
    expect(await next()).toMatchObject({ command: "steer" });
  });

  test("of a client that ends its side are answered before it is let go", async () => {
    await open();
    const { socket, next } = await enter();
    socket.end('{"type":"get_state"}\n{"type":"get_messages"}');
    expect([await next(), await next(), await next()]).toMatchObject([
      { command: "get_state" },
      { command: "get_messages" },
      "end",
    ]);
  });
});

test("a closed server lets its clients go with all that it told them, and takes no more", async () => {
  const { tell, close } = await open();
  const { socket, next } = await enter();
  socket.write('{"type":"attach"}\n');
  expect([await next(), await next()]).toEqual([attached, sampleHeader]);
  const message = { role: "user" as const, content: "x".repeat(3_000_000), timestamp: 1 };
  tell(({ emit }) => emit({ type: "message_end", message }));
  close();
  expect([await next(), await next()]).toEqual([{ type: "message_end", message }, "end"]);
  await expect(once(connect(path), "connect")).rejects.toThrow(/ENOENT|ECONNREFUSED/);
});

test("neither the server nor its clients keep a process alive", async () => {
  const source = `
    import { openControlServer } from "./runs/control-server.ts";
    import { connect } from "node:net";
    const nothing = { handle: async () => {}, refuse() {}, idle: async () => {} };
    const watch = () => ({ header() {}, emit() {} });
    await openControlServer({ socket: process.argv[2], connect: async () => nothing, watch });
    const client = connect(process.argv[2], () => client.write('{"type":"attach"}\\n'));
    client.once("data", () => { client.unref(); console.log("attached"); });
  `;
  const { path: program, remove } = await bundleProgram(source);
  try {
    const options = { encoding: "utf8", timeout: 10_000 } as const;
    expect(execFileSync(process.execPath, [program, path], options)).toBe("attached\n");
  } finally {
    remove();
  }
});

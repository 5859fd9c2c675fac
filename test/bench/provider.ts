import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Answer, answerOf, toolOf } from "./provider-answers.ts";
import { wireOf } from "./provider-wires.ts";

/** When a request of a run had arrived whole, and its size. */
export type Arrival = {
  /** Nanoseconds of the system's monotonic clock. */
  readonly atNs: string;
  readonly bytes: number;
};

type Run = { readonly arrivals: Arrival[]; tool: string | undefined };

/*
 * A provider on loopback, in a process of its own. `/<script>/<run>/...` is the base URL of a run: the script says what
 * the model answers, in whichever API the request is made. `/log/<run>` gives the run's requests. Prints its URL.
 */
const runs = new Map<string, Run>();
const pacedGapMs = 10;

const server = createServer((request, response) => {
  const [, script = "", id = ""] = request.url?.split("/") ?? [];
  if (script === "log") response.end(JSON.stringify(take(id)));
  else void answer(request, response, { script, id });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
process.stdin.resume().on("end", () => process.exit());

function take(id: string): readonly Arrival[] {
  const arrivals = runs.get(id)?.arrivals ?? [];
  runs.delete(id);
  return arrivals;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { script, id }: { script: string; id: string },
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const atNs = process.hrtime.bigint().toString();
  const wire = wireOf(request.url ?? "");
  if (wire === undefined) {
    response.writeHead(404, { "content-type": "application/json" }).end("{}");
    return;
  }
  const body = Buffer.concat(chunks);
  const run = runs.get(id) ?? { arrivals: [], tool: undefined };
  runs.set(id, run);
  // What a peer asks besides its task (a title, a check of the quota) is no turn.
  const isTurn = body.length > 1_000_000 || body.includes('"tools":[{');
  if (isTurn) run.arrivals.push({ atNs, bytes: body.length });
  run.tool ??= isTurn ? toolOf(body.toString()) : undefined;
  const said: Answer = isTurn ? answerOf(script, run.arrivals.length, run.tool) : { text: ["ok"] };
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (!script.startsWith("paced")) response.end(wire(said));
  else {
    await pace(response, wire(said));
    response.end();
  }
}

/** Sends one event after the other, each text with the time at which it was sent. */
async function pace(response: ServerResponse, body: string): Promise<void> {
  for (const event of body.split(/(?<=\n\n)/)) {
    if (event.includes(timeMark)) await new Promise((resolve) => setTimeout(resolve, pacedGapMs));
    const now = `t${process.hrtime
      .bigint()
      .toString()
      .padStart(timeMark.length - 1, "0")}`;
    response.write(event.replaceAll(timeMark, now));
  }
}

const timeMark = `t${"0".repeat(20)}`;

import { errorMessage } from "../contract/errors.ts";
import type { RunFailure } from "../contract/outcome.ts";
import { redactValue } from "../contract/redact.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import { maxCommandBytes } from "../runs/protocol.ts";
import { readCommandLines } from "../runs/rpc/lines.ts";
import { toJsonText } from "../sinks/json-text.ts";
import type { Run } from "../start/start-run.ts";

/**
 * Answers the commands on stdin until it ends, then ends what is at work. A signal ends both. Gives the
 * failure of a stdin that cannot be read.
 */
export async function serveRpc(run: Run, host: Host, { stdout, redaction }: Console): Promise<RunFailure[]> {
  const service = await run.service();
  const client = service.connect((response) => {
    stdout.write(`${toJsonText(redactValue(response, redaction.redact))}\n`);
  });
  const input = host.stdin.stream();
  const leave = () => input.destroy();
  host.signal.addEventListener("abort", leave, { once: true });
  if (host.signal.aborted) leave();
  try {
    for await (const line of readCommandLines(input, maxCommandBytes)) {
      if (line.kind === "line") await client.handle(line.text);
      else client.refuse(line.kind);
      await stdout.ready();
      if (host.signal.aborted) break;
    }
  } catch (error) {
    if (!host.signal.aborted)
      return [{ kind: "internal", message: `stdin cannot be read: ${errorMessage(error)}` }];
  } finally {
    host.signal.removeEventListener("abort", leave);
    await client.idle();
    await run.conversation.idle();
  }
  return [];
}

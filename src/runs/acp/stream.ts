import * as acp from "@agentclientprotocol/sdk";

/**
 * The same stream, without lists of messages: the protocol has none, and the library ends the connection over one. Each
 * is answered with an error, and what comes next is read.
 */
export function withoutLists({ readable, writable }: acp.Stream): acp.Stream {
  const writer = writable.getWriter();
  const only = new TransformStream<acp.AnyMessage, acp.AnyMessage>({
    async transform(message, controller) {
      if (Array.isArray(message)) await writer.write(refusal);
      else controller.enqueue(message);
    },
  });
  return {
    readable: readable.pipeThrough(only),
    writable: new WritableStream({ write: (message) => writer.write(message) }),
  };
}

const refusal = {
  jsonrpc: "2.0",
  id: null,
  error: acp.RequestError.invalidRequest(
    undefined,
    "send one message a line, not a list of them",
  ).toErrorResponse(),
} satisfies acp.AnyMessage;

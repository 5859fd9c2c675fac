// A provider in a process of its own, for replies that are too long to be held as text: so many deltas as the first
// argument says, as fast as they are taken. Prints its URL.
import { createServer } from "node:http";

const count = Number(process.argv[2]);
const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

const server = createServer(async (request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let at = 0; at < count && !response.destroyed; at += 100) {
    let text = "";
    for (let next = at; next < Math.min(count, at + 100); next++) text += chunk({ content: `${next} ` });
    if (!response.write(text)) await roomIn(response);
  }
  response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));

function roomIn(response) {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

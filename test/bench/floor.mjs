// The least that a run can cost: asks a Chat Completions endpoint over node:http, prints each piece of the answer as a
// JSON line, runs commands with `sh -c`, and goes on until the model calls nothing. Keeps nothing, checks nothing.
import { spawn } from "node:child_process";
import { Agent, request } from "node:http";

const [url, prompt] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const messages = [{ role: "user", content: prompt }];
const tools = [{ type: "function", function: { name: "bash", parameters: { type: "object" } } }];

print({ type: "start" });
for (;;) {
  const message = await ask();
  messages.push(message);
  if (message.tool_calls.length === 0) break;
  for (const { id, function: call } of message.tool_calls) {
    const content = await run(JSON.parse(call.arguments).command);
    messages.push({ role: "tool", tool_call_id: id, content });
    print({ type: "result", content });
  }
}
print({ type: "end" });
agent.destroy();

async function ask() {
  const message = { role: "assistant", content: "", tool_calls: [] };
  let rest = "";
  for await (const chunk of await post(JSON.stringify({ model: "m", stream: true, messages, tools }))) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const delta = JSON.parse(line.slice(6)).choices[0]?.delta;
      if (delta?.content) {
        message.content += delta.content;
        print({ type: "delta", text: delta.content });
      }
      for (const { index, id, function: call } of delta?.tool_calls ?? []) {
        message.tool_calls[index] ??= { id, type: "function", function: { name: call.name, arguments: "" } };
        message.tool_calls[index].function.arguments += call.arguments;
      }
    }
  }
  return message;
}

function post(body) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const call = request(`${url}/chat/completions`, { method: "POST", agent, headers }, (reply) =>
      resolve(reply.setEncoding("utf8")),
    );
    call.on("error", reject).end(body);
  });
}

function run(command) {
  return new Promise((resolve, reject) => {
    const child = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.on("error", reject).on("close", () => resolve(output));
  });
}

function print(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

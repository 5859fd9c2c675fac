import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { runScript } from "../support/run-script.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const escapes =
  "\u001b[31mred\u001b[0m \u001b]0;title\u0007\u001b]52;c;aGk=\u001b\\bell\u0007 \u009b2Jcsi\r\b";

/** Runs a line of shell on a terminal; gives what the terminal got. Inside, stdout and stderr are the terminal. */
async function onTerminal(bench: Bench, line: string, size = ""): Promise<string> {
  const { stdout } = await runScript(
    bench,
    `export SIZE='${size}'; script -qec '[ -z "$SIZE" ] || stty $SIZE; ${line.replaceAll("'", `'"'"'`)}' /dev/null </dev/null`,
  );
  return stdout;
}

/** What stays on a screen: each line after its last return and erasure. */
function shown(output: string): string {
  return output
    .split("\r\n")
    .map((line) => line.split("\r\u001b[2K").at(-1))
    .join("\n");
}

describe("on a terminal", () => {
  test("the answer is streamed, in the place of the progress", async () => {
    const bench = await createBench([{ ...chatReply({ text: ["Hel", "lo"] }), end: "close" }]);
    const output = await onTerminal(bench, "$BC hi");
    expect(shown(output)).toBe("Hello\n");
    expect(output).toContain("waiting for the model · 0s");
  });

  test("the answer is there before the reply has ended", async () => {
    const { body } = chatReply({ text: "Hello" });
    const bench = await createBench([{ body: `${String(body).split("\n\n")[0]}\n\n`, end: "hang" }]);
    const { stdout } = await runScript(bench, 'exec script -qefc "$BC hi" /dev/null </dev/null', {
      onStdout: (soFar, child) => {
        if (!child.killed && soFar.includes("Hello")) child.kill("SIGTERM");
      },
    });
    expect(shown(stdout)).toContain("Hello");
  });

  test("progress tells the tool, the time, the tokens and the price", async () => {
    const bench = await createBench(
      [
        chatReply({
          calls: [{ name: "bash", args: { command: "sleep 1.2" } }],
          usage: { input: 3000, output: 400 },
        }),
        chatReply({ text: "done" }),
      ],
      { model: { cost: { input: 1, output: 10 } } },
    );
    const output = await onTerminal(bench, "$BC hi");
    expect(output).toContain("bash · 1s · 3.4k tokens · $0.007");
    expect(shown(output)).toBe("done\n");
  });

  test("progress fits into the width of the terminal", async () => {
    const bench = await createBench([chatReply({ text: "done" })]);
    const output = await onTerminal(bench, "$BC hi", "cols 12");
    expect(output).toContain("waiting for\r");
    expect(shown(output)).toBe("done\n");
  });

  test.each([
    ["in one piece", [escapes]],
    ["in many", [...escapes]],
  ])("escape sequences of the model are not passed on: %s", async (_, text) => {
    const bench = await createBench([chatReply({ text })]);
    expect(shown(await onTerminal(bench, "$BC hi"))).toBe("red bell csi\n");
  });

  test("escape sequences of a provider's error are not passed on", async () => {
    const body = JSON.stringify({ error: { message: `no: ${escapes}` } });
    const bench = await createBench([{ status: 400, type: "application/json", body }]);
    const output = shown(await onTerminal(bench, "$BC hi"));
    expect(output).toContain("base-context: fake answered 400");
    for (const control of ["\u0007", "\u001b", "\u009b"]) expect(output).not.toContain(control);
  });

  test("JSON is the stream and nothing else, and stderr has no progress", async () => {
    const bench = await createBench([chatReply({ text: escapes })]);
    const output = await onTerminal(bench, "$BC --mode json hi");
    expect(output).not.toContain("\u001b");
    for (const line of output.trimEnd().split("\r\n")) expect(() => JSON.parse(line)).not.toThrow();
  });

  test("with stdout in a pipe, progress is on stderr and the answer in the pipe only", async () => {
    const bench = await createBench([chatReply({ text: escapes })]);
    const output = await onTerminal(bench, "$BC hi | od -c | head -n 2; exit");
    expect(output).toContain("033");
    expect(output).toContain("waiting for the model");
  });

  test("with stderr in a file there is no progress", async () => {
    const bench = await createBench([chatReply({ text: "done" })]);
    expect(await onTerminal(bench, "$BC hi 2>err; cat err")).toBe("done\r\n");
  });

  test("a child finds no terminal to ask on", async () => {
    const command = "cat </dev/tty; git -c core.editor=vi commit --allow-empty; read -r line; echo over";
    const bench = await createBench([
      chatReply({ calls: [{ name: "bash", args: { command: `git init -q . && ${command}` } }] }),
      chatReply({ text: "done" }),
    ]);
    expect(shown(await onTerminal(bench, "$BC hi"))).toBe("done\n");
    expect(JSON.stringify(bench.server.json(1).messages.at(-1))).toContain("over");
  });
});

describe("in a pipe", () => {
  test("the answer is what the model said, byte for byte, and stderr is empty", async () => {
    const bench = await createBench([chatReply({ text: escapes })]);
    expect(await bench.run(["hi"])).toMatchObject({ status: 0, stdout: `${escapes}\n`, stderr: "" });
  });
});

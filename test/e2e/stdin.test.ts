import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { createBench } from "../support/with-provider.ts";

const answer = chatReply({ text: "done" });
const prompt = (bench: Awaited<ReturnType<typeof createBench>>) => bench.server.json(0).messages[1].content;

test("a pipe with text and a message: both are the prompt", async () => {
  const bench = await createBench([answer]);
  expect(await bench.run(["hi"], { stdin: "ctx" })).toMatchObject({
    status: 0,
    stdout: "done\n",
    stderr: "",
  });
  expect(prompt(bench)).toBe("ctx\n\nhi");
});

test("a pipe with text and no message: the text is the prompt", async () => {
  const bench = await createBench([answer]);
  expect(await bench.run([], { stdin: "just this\n" })).toMatchObject({ status: 0, stdout: "done\n" });
  expect(prompt(bench)).toBe("just this");
});

test("piped text that begins with a slash is no session command", async () => {
  const bench = await createBench([answer]);
  expect(await bench.run([], { stdin: "/usr/bin/x: not found" })).toMatchObject({ status: 0 });
  expect(prompt(bench)).toBe("/usr/bin/x: not found");
});

test("an empty pipe and a message: the message is the prompt", async () => {
  const bench = await createBench([answer]);
  expect(await bench.run(["hi"], { stdin: "" })).toMatchObject({ status: 0, stderr: "" });
  expect(prompt(bench)).toBe("hi");
});

test.each([
  ["an empty pipe", ""],
  ["a blank pipe", " \n\n"],
])("%s and no message: status 2", async (_, stdin) => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--mode", "json"], { stdin });
  expect(result).toMatchObject({ status: 2, stdout: "" });
  expect(result.stderr).toMatch(/^base-context: there is no message[^\n]*\n$/);
});

test("a silent open pipe and a message: the run goes on without it and says so", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--stdin-timeout", "200", "hi"], { stdin: "open" });
  expect(result).toMatchObject({ status: 0, stdout: "done\n" });
  expect(result.stderr).toMatch(/^base-context: stdin is open but said nothing for 200 ms[^\n]*\n$/);
  expect(prompt(bench)).toBe("hi");
});

test("a pipe that speaks in time is read to its end, however long that takes", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--stdin-timeout", "2000", "hi"], {
    stdin: "open",
    onStart: (child) => {
      child.stdin?.write("first ");
      setTimeout(() => child.stdin?.end("second"), 2500);
    },
  });
  expect(result).toMatchObject({ status: 0, stderr: "" });
  expect(prompt(bench)).toBe("first second\n\nhi");
});

test("--stdin waits beyond the time limit", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--stdin", "--stdin-timeout", "50", "hi"], {
    stdin: "open",
    onStart: (child) => {
      setTimeout(() => child.stdin?.end("late"), 600);
    },
  });
  expect(result).toMatchObject({ status: 0, stderr: "" });
  expect(prompt(bench)).toBe("late\n\nhi");
});

test("--no-stdin never looks", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--no-stdin", "hi"], { stdin: "ignored" });
  expect(result).toMatchObject({ status: 0, stderr: "" });
  expect(prompt(bench)).toBe("hi");
});

test("a signal ends the wait for stdin", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--stdin", "hi"], {
    stdin: "open",
    onStart: (child) => {
      setTimeout(() => child.kill("SIGTERM"), 700);
    },
  });
  expect(result).toMatchObject({ status: 143, stdout: "" });
});

test("a dash token with white space is a message, and what follows -- is taken literally", async () => {
  for (const [args, text] of [
    [["- fix the test"], "- fix the test"],
    [["---\ntitle: x\n---\ndo it"], "---\ntitle: x\n---\ndo it"],
    [["--", "--help"], "--help"],
    [["--", "@home"], "@home"],
    [["--", "/compact"], "/compact"],
    [["--", "list"], "list"],
  ] as const) {
    const bench = await createBench([answer]);
    expect(await bench.run([...args])).toMatchObject({ status: 0, stdout: "done\n" });
    expect(prompt(bench)).toBe(text);
  }
});

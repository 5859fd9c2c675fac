import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { runScript } from "../support/run-script.ts";
import { createBench } from "../support/with-provider.ts";

const answer = chatReply({ text: "{}" });

describe("a pipe with nobody at its other end", () => {
  test.each([
    ["--output-schema", "bc --output-schema f hi", 2, /--output-schema f is no JSON/],
    ["--replay", "bc --replay f hi", 2, /f: is empty/],
    ["--record", "bc --record f hi", 2, /f: it is a pipe that nobody reads/],
    ["--summary", "bc --summary f hi", 1, /to f: it is a pipe that nobody reads/],
    ["--output-last-message", "bc --output-last-message f hi", 1, /to f: it is a pipe that nobody reads/],
    ["/export", "mv f f.md; bc hi '/export f.md'", 1, /f\.md: it is a pipe that nobody reads/],
  ])("is not waited for: %s", async (_, script, status, words) => {
    const bench = await createBench([answer]);
    const { stdout, stderr } = await runScript(bench, `mkfifo f; ${script} >/dev/null; echo $?`);
    expect(stdout).toBe(`${status}\n`);
    expect(stderr).toMatch(words);
    expect(stderr.split("\n")).toHaveLength(2);
    if (status === 2) expect(bench.server.requests).toEqual([]);
  });

  test("is let go of by a signal while its writer is silent", async () => {
    const bench = await createBench([answer]);
    const script =
      "mkfifo f; sleep 9 >f & w=$!; bc --output-schema f hi & b=$!; sleep 1; kill -TERM $b; wait $b; echo $?; kill $w";
    const { stdout } = await runScript(bench, script);
    expect(stdout).toBe("143\n");
  });
});

test("what has no end is refused", async () => {
  const { run } = await createBench([answer]);
  for (const option of ["--output-schema", "--replay"])
    expect(await run([option, "/dev/zero", "hi"])).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/\/dev\/zero[^\n]*: it does not end within \d+ bytes[^\n]*\n$/),
    });
});

test("the pipes that a shell makes of commands are read and written", async () => {
  const bench = await createBench([answer]);
  const script = `
    bc --record r hi
    bc --replay <(sleep 0.2; head -n 1 r; sleep 0.2; tail -n +2 r) hi
    bc --output-schema <(sleep 0.2; echo '{"type":"object"}') hi
    mkfifo f; cat f >got & bc --record f hi; wait; cmp <(wc -l <got) <(wc -l <r) && echo the same
    cat f >got & bc --summary f hi; wait; grep -c '"status": 0' got
    cat f >got & bc --output-last-message f hi; wait; cat got`;
  const { stdout, stderr } = await runScript(bench, script);
  expect(stderr).toBe("");
  expect(stdout).toBe("{}\n{}\n{}\n{}\nthe same\n{}\n1\n{}\n{}");
});

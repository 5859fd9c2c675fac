import { expect, test } from "vitest";
import { createStderr, type StderrOptions } from "../../src/sinks/stderr.ts";
import { createMemoryWriter } from "../support/memory-writer.ts";

function make(options: Partial<StderrOptions> = {}) {
  const writer = createMemoryWriter();
  return { text: () => writer.text(), stderr: createStderr({ writer, verbose: false, ...options }) };
}

test.each([
  ["a line", "disk is full", "base-context: disk is full\n"],
  ["several lines", "a\n  b\r\nc\u2028d\n", "base-context: a b c d\n"],
  ["escape sequences", "\u001b[31mred\u001b[0m\0", "base-context: red\n"],
])("%s is told in one line", (_, message, expected) => {
  const { stderr, text } = make();
  stderr.diagnostic(message);
  expect(text()).toBe(expected);
});

test("credentials are not told", () => {
  const { stderr, text } = make({ verbose: true, redact: (found) => found.replaceAll("sk-1", "[redacted]") });
  stderr.diagnostic("key sk-1 refused");
  stderr.error(new Error("sk-1"));
  stderr.detail("sk-1");
  expect(text()).not.toContain("sk-1");
});

test("an error is told without its stack", () => {
  const { stderr, text } = make();
  stderr.error(new Error("no\nway"));
  stderr.error("thrown text");
  expect(text()).toBe("base-context: no way\nbase-context: thrown text\n");
});

test("the stack of an error and details are told with --verbose", () => {
  const { stderr, text } = make({ verbose: true });
  stderr.error(new Error("no way"));
  stderr.detail("more");
  expect(text()).toMatch(/^base-context: no way\nError: no way\n\s+at [\s\S]*\nbase-context: more\n$/);
});

test("details are not told without --verbose", () => {
  const { stderr, text } = make();
  stderr.detail("more");
  expect(text()).toBe("");
});

const erase = "\r\u001b[2K";

test("a status is one line that is redrawn, out of the way of diagnostics, and gone in the end", async () => {
  const { stderr, text } = make({ columns: () => 80 });
  stderr.status("one");
  stderr.status("one");
  stderr.status("two\nlines");
  stderr.diagnostic("careful");
  await stderr.close();
  expect(text()).toBe(`one${erase}two lines${erase}base-context: careful\ntwo lines${erase}`);
});

test("a status fits the terminal", () => {
  const { stderr, text } = make({ columns: () => 5 });
  stderr.status("abcdefgh");
  expect(text()).toBe("abcd");
});

test("there is no status where there is no terminal", async () => {
  const { stderr, text } = make();
  stderr.status("one");
  stderr.status(undefined);
  await stderr.close();
  expect(text()).toBe("");
});

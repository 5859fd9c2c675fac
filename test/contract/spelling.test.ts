import { expect, test } from "vitest";
import { nearest } from "../../src/contract/spelling.ts";

const words = ["--mode", "--model", "--resume", "--no-context-files", "--continue", "--json-deltas"];

test.each([
  ["--modle", "--model"],
  ["--MODE", "--mode"],
  ["resume", "--resume"],
  ["--no-context", "--no-context-files"],
  ["-cotninue", "--continue"],
  ["--deltas", "--json-deltas"],
])("%s most likely means %s", (word, meant) => {
  expect(nearest(word, words, 1)).toEqual([meant]);
});

test("gives as many as there are, at most as many as asked for", () => {
  expect(nearest("x", [], 3)).toEqual([]);
  expect(nearest("", ["a"], 3)).toEqual(["a"]);
  expect(nearest("--mod", words, 2)).toEqual(["--mode", "--model"]);
});

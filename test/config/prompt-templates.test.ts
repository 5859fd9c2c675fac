import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expandPrompt } from "../../src/config/expand-prompt.ts";
import { fillTemplate, splitArguments } from "../../src/config/prompt-templates.ts";
import { createFolder } from "./folder.ts";

describe("splitArguments", () => {
  test.each<[args: string, words: string[], text: string]>([
    ["", [], ""],
    ["  \n ", [], ""],
    ["a b", ["a", "b"], "a b"],
    ["  a \t b\n", ["a", "b"], "a \t b"],
    ['"a b" c', ["a b", "c"], "a b c"],
    ["'a b' c", ["a b", "c"], "a b c"],
    ['--name="a b" c', ["--name=a b", "c"], "--name=a b c"],
    ['"a"b', ["ab"], "ab"],
    ['"" b', ["", "b"], " b"],
    ["'' b", ["", "b"], " b"],
    ['"say \\"hi\\"" x', ['say "hi"', "x"], 'say "hi" x'],
    ['"c:\\\\dir" c:\\dir', ["c:\\dir", "c:\\dir"], "c:\\dir c:\\dir"],
    [`"it's" 'say "hi"'`, ["it's", 'say "hi"'], `it's say "hi"`],
    ["don't and won't", ["don't", "and", "won't"], "don't and won't"],
    ["'tis the season", ["'tis", "the", "season"], "'tis the season"],
    ['a 5" disk', ["a", '5"', "disk"], 'a 5" disk'],
    ["first line\n\n  second", ["first", "line", "second"], "first line\n\n  second"],
    ["größe 😀", ["größe", "😀"], "größe 😀"],
  ])("%j", (args, words, text) => {
    expect(splitArguments(args)).toEqual({ words, text });
  });

  test("quoted words come out as they went in", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (words) => {
        const quoted = words.map((word) => `"${word.replace(/["\\]/g, "\\$&")}"`).join(" ");
        expect(splitArguments(quoted).words).toEqual(words);
      }),
    );
  });

  test("text without quotes loses nothing", () => {
    fc.assert(
      fc.property(fc.string(), (raw) => {
        const text = raw.replace(/["']/g, "");
        const split = splitArguments(text);
        expect(split.text).toBe(text.trim());
        expect(split.words).toEqual(text.split(/\s+/).filter((word) => word !== ""));
      }),
    );
  });
});

test.each<[name: string, template: string, args: string, filled: string]>([
  ["single words", "$2 before $1", "a b c", "b before a"],
  ["a missing word is empty", "[$1] [$2]", "a", "[a] []"],
  ["all words", "do $@ now: $ARGUMENTS", 'a "b c"', "do a b c now: a b c"],
  ["no arguments", "do $@ now", "", "do  now"],
  ["without a place they follow", "Review it.\n", "with care", "Review it.\n\nwith care"],
  ["without a place and without arguments", "Review it.\n", "", "Review it.\n"],
  ["an argument is not a template", "$1 $2", "$2 $&", "$2 $&"],
  ["what only looks like a place", "$10 $0 $ARGUMENTSX $x $$ $1st", "a", "$10 $0 $ARGUMENTSX $x $$ ast"],
])("fillTemplate: %s", (_, template, args, filled) => {
  expect(fillTemplate(template, args)).toBe(filled);
});

describe("expandPrompt", () => {
  function setUp() {
    const folder = createFolder();
    folder.file("home/prompts/review.md", "---\ndescription: Reviews\n---\nReview $1 closely.\n");
    folder.file("home/prompts/both.md", "the user's");
    folder.file("project/prompts/both.md", "the project's");
    folder.file("project/prompts/compact.md", "not the command");
    folder.file("secret.md", "not a template");
    const sources = {
      folders: [folder.path("home"), folder.path("project")],
      reserved: ["compact"],
      warn: folder.warn,
    };
    return { ...folder, expand: (message: string) => expandPrompt(message, sources) };
  }

  test.each<[message: string, text: string]>([
    ["/review src/a.ts", "Review src/a.ts closely."],
    ["/review", "Review  closely."],
    ["/review\n'a b'", "Review a b closely."],
    ["/both", "the project's"],
    ["review it", "review it"],
    ["/usr/bin/env fails", "/usr/bin/env fails"],
    ["/../secret", "/../secret"],
    ["//both", "//both"],
    ["/ both", "/ both"],
    [" /both", " /both"],
    ["/2024 is a year", "/2024 is a year"],
    ["/both.md", "/both.md"],
  ])("%j is a prompt", (message, text) => {
    const { expand, warnings } = setUp();
    expect(expand(message)).toEqual({ kind: "prompt", text });
    expect(warnings).toEqual([]);
  });

  test.each<[message: string, name: string, args: string]>([
    ["/unknown", "unknown", ""],
    ["/unknown a b", "unknown", "a b"],
    ["/compact be brief", "compact", "be brief"],
    ["/skill:unknown", "skill:unknown", ""],
  ])("%j is neither template nor skill", (message, name, args) => {
    const { expand, warnings } = setUp();
    expect(expand(message)).toEqual({ kind: "not_found", name, args });
    expect(warnings).toEqual([]);
  });

  test("a template that is empty or no text is warned of", () => {
    const { expand, file, warnings } = setUp();
    const empty = file("home/prompts/empty.md", "---\ndescription: x\n---\n\n");
    const binary = file("home/prompts/binary.md", "a\0");
    expect(expand("/empty")).toMatchObject({ kind: "not_found" });
    expect(expand("/binary")).toMatchObject({ kind: "not_found" });
    expect(warnings).toEqual([
      `${empty} is left out: it makes an empty prompt`,
      `${binary} is left out: it is binary`,
    ]);
  });

  test("a line that opens no front matter stays", () => {
    const { expand, file } = setUp();
    file("home/prompts/rule.md", "---\nabove a rule that never closes");
    expect(expand("/rule")).toEqual({ kind: "prompt", text: "---\nabove a rule that never closes" });
  });
});

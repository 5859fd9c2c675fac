import { symlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { expandPrompt } from "../../src/config/expand-prompt.ts";
import { parseFields, splitFrontMatter } from "../../src/config/front-matter.ts";
import { loadSkills } from "../../src/config/skills.ts";
import { createFolder } from "./folder.ts";

describe("splitFrontMatter", () => {
  test.each<[text: string, matter: string | undefined, body: string]>([
    ["---\na: b\n---\nbody\n", "a: b", "body\n"],
    ["---\na: b\n---", "a: b", ""],
    ["--- \na: b\n--- \n\nbody", "a: b", "\nbody"],
    ["---\n---\nbody", "", "body"],
    ["---\na: b\n----\n---\nbody", "a: b\n----", "body"],
    ["---\na: b\n---\nx\n---\ny", "a: b", "x\n---\ny"],
    ["---\nnever closed", undefined, "---\nnever closed"],
    ["\n---\na: b\n---\n", undefined, "\n---\na: b\n---\n"],
    ["body", undefined, "body"],
    ["", undefined, ""],
  ])("%j", (text, matter, body) => {
    expect(splitFrontMatter(text)).toEqual({ matter, body });
  });
});

describe("parseFields", () => {
  test.each<[matter: string, fields: Record<string, string>]>([
    ["", {}],
    ["name: x\ndescription: Does y.", { name: "x", description: "Does y." }],
    ["# comment\n\nname: x # comment\n", { name: "x" }],
    ["name: c#", { name: "c#" }],
    ["name:", { name: "" }],
    ["name: # nothing", { name: "" }],
    ["description: Use when: asked", { description: "Use when: asked" }],
    ['a: "b # \\"c\\" \\u00e9" # comment', { a: 'b # "c" é' }],
    ["a: 'it''s # b'", { a: "it's # b" }],
    ['a: "b\n  c"', { a: "b c" }],
    ["a: b\n  c\n\n  d\ne: f", { a: "b c\nd", e: "f" }],
    ["a:\n  b\n  c", { a: "b c" }],
    ["a: >-\n  b\n  c\n\n  d\n", { a: "b c\nd" }],
    ["a: |\n  b\n    c\n\n  d # kept\ne: f", { a: "b\n  c\n\nd # kept", e: "f" }],
    ["a: >\nb: c", { a: "", b: "c" }],
    [
      "allowed-tools:\n- read\n- ls\nmetadata:\n  x: 1\nname: y",
      {
        "allowed-tools": "- read - ls",
        metadata: "x: 1",
        name: "y",
      },
    ],
  ])("%j", (matter, fields) => {
    const parsed = parseFields(matter);
    expect(parsed.ok && Object.fromEntries(parsed.fields)).toEqual(fields);
  });

  test.each<[matter: string, problem: string]>([
    ["name: x\nwhat", 'line 3 is not "key: value"'],
    ["{name: x}", 'line 2 is not "key: value"'],
    ["name:x", 'line 2 is not "key: value"'],
    ["\tname: x", 'line 2 is not "key: value"'],
    ['name: "x', "line 2: the quoted value of name is not complete"],
    ["name: 'x' y", "line 2: the quoted value of name is not complete"],
    ["a: 1\na: 2", "line 3: a is there twice"],
  ])("%j is malformed", (matter, problem) => {
    expect(parseFields(matter)).toEqual({ ok: false, problem });
  });
});

function skill(name: string, description: string, body = `How to ${name}.`): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;
}

describe("loadSkills", () => {
  test("finds each folder with a SKILL.md, sorted, the project's before the user's of that name", () => {
    const { file, path, folder, warn, warnings } = createFolder();
    file("home/skills/pdf/SKILL.md", skill("pdf", "Reads PDF\n  files."));
    file("home/skills/both/SKILL.md", skill("both", "The user's."));
    file("project/skills/both/SKILL.md", skill("both", "The project's."));
    file("project/skills/by-folder/SKILL.md", "---\ndescription: Has no name.\n---\n");
    file("home/skills/README.md");
    folder("home/skills/empty");
    file("elsewhere/linked/SKILL.md", skill("linked", "Is elsewhere."));
    symlinkSync("../../elsewhere/linked", path("home/skills/linked"));
    const skills = loadSkills({ folders: [path("home"), path("project"), path("missing")], warn });
    expect(skills).toEqual([
      {
        name: "both",
        description: "The project's.",
        path: path("project/skills/both/SKILL.md"),
        body: "How to both.",
      },
      {
        name: "by-folder",
        description: "Has no name.",
        path: path("project/skills/by-folder/SKILL.md"),
        body: "",
      },
      {
        name: "linked",
        description: "Is elsewhere.",
        path: path("home/skills/linked/SKILL.md"),
        body: "How to linked.",
      },
      {
        name: "pdf",
        description: "Reads PDF files.",
        path: path("home/skills/pdf/SKILL.md"),
        body: "How to pdf.",
      },
    ]);
    expect(warnings).toEqual([]);
  });

  test.each<[content: string, why: string]>([
    ["no front matter", 'it does not begin with front matter ("---", name, description)'],
    ["---\nname: x\n---\n", "its front matter has no description"],
    ["---\nname: x\ndescription: ''\n---\n", "its front matter has no description"],
    ["---\nname: x\nwhat\n---\n", 'line 3 is not "key: value"'],
    [skill("a b", "c"), 'its name "a b" has to be letters, digits, - and _'],
    [skill("../x", "c"), 'its name "../x" has to be letters, digits, - and _'],
    ["a\0b", "it is binary"],
  ])("%j is left out with a warning", (content, why) => {
    const { file, path, warn, warnings } = createFolder();
    const broken = file("home/skills/x/SKILL.md", content);
    expect(loadSkills({ folders: [path("home")], warn })).toEqual([]);
    expect(warnings).toEqual([`${broken} is left out: ${why}`]);
  });
});

describe("/skill:name", () => {
  test("puts the skill and what was said into the prompt", () => {
    const { file, path, warn, warnings } = createFolder();
    const pdf = file("home/skills/pdf/SKILL.md", skill("pdf", "Reads PDF files.", "Run scripts/a.sh $1."));
    file("home/skills/broken/SKILL.md", "");
    const sources = { folders: [path("home")], reserved: [], warn };
    const framed = `<skill name="pdf" path="${pdf}">\nPaths in it are relative to ${path("home/skills/pdf")}.\n\nRun scripts/a.sh $1.\n</skill>`;
    expect(expandPrompt("/skill:pdf", sources)).toEqual({ kind: "prompt", text: framed });
    expect(expandPrompt('/skill:pdf "a b" c', sources)).toEqual({
      kind: "prompt",
      text: `${framed}\n\n"a b" c`,
    });
    expect(warnings).toEqual([]);
  });

  test("says why one that is broken is not there", () => {
    const { file, path, warn, warnings } = createFolder();
    const broken = file("home/skills/broken/SKILL.md", "---\nname: broken\n---\n");
    expect(expandPrompt("/skill:broken", { folders: [path("home")], reserved: [], warn })).toEqual({
      kind: "not_found",
      name: "skill:broken",
      args: "",
    });
    expect(warnings).toEqual([`${broken} is left out: its front matter has no description`]);
  });
});

import { symlinkSync } from "node:fs";
import { expect, test } from "vitest";
import prose from "../../src/config/system-prompt.md";
import { configFolders, readSystemPrompt, type SystemPromptSources } from "../../src/config/system-prompt.ts";
import { createFolder, type Folder } from "./folder.ts";

const timestamp = "2024-05-06T23:59:59.999Z";

function read({ folder, warn }: Folder, options: Partial<SystemPromptSources> = {}): string {
  return readSystemPrompt({
    home: folder("home"),
    cwd: folder("work"),
    timestamp,
    contextFiles: true,
    canRead: true,
    warn,
    ...options,
  });
}

const facts = ({ path }: Folder) => `Working directory: ${path("work")}\nDate: 2024-05-06`;

test("where no file is, the prose, the working directory and the day are all of it", () => {
  const folder = createFolder();
  expect(read(folder)).toBe(`${prose.trim()}\n\n${facts(folder)}`);
});

test.each<{
  name: string;
  there: string[];
  options?: Partial<SystemPromptSources>;
  expected: string[];
}>([
  { name: "SYSTEM.md replaces the prose", there: ["home/SYSTEM.md"], expected: ["text of home/SYSTEM.md"] },
  {
    name: "the project's before the user's",
    there: ["home/SYSTEM.md", "work/.base-context/SYSTEM.md"],
    expected: ["text of work/.base-context/SYSTEM.md"],
  },
  {
    name: "the option before both",
    there: ["home/SYSTEM.md", "work/.base-context/SYSTEM.md"],
    options: { custom: "custom" },
    expected: ["custom"],
  },
  {
    name: "APPEND_SYSTEM.md, then the option",
    there: ["home/APPEND_SYSTEM.md"],
    options: { append: "appended" },
    expected: [prose.trim(), "text of home/APPEND_SYSTEM.md", "appended"],
  },
  {
    name: "the project's APPEND_SYSTEM.md before the user's",
    there: ["home/APPEND_SYSTEM.md", "work/.base-context/APPEND_SYSTEM.md"],
    options: { custom: "custom" },
    expected: ["custom", "text of work/.base-context/APPEND_SYSTEM.md"],
  },
  {
    name: "nothing of the project's without context files",
    there: [
      "home/AGENTS.md",
      "home/SYSTEM.md",
      "work/AGENTS.md",
      "work/.base-context/SYSTEM.md",
      "work/.base-context/APPEND_SYSTEM.md",
    ],
    options: { contextFiles: false },
    expected: ["text of home/SYSTEM.md"],
  },
  { name: "an empty prompt is one", there: [], options: { custom: "" }, expected: [] },
])("system prompt: $name", ({ there, options, expected }) => {
  const folder = createFolder();
  for (const name of there) folder.file(name);
  expect(read(folder, options)).toBe([...expected, facts(folder)].join("\n\n"));
  expect(folder.warnings).toEqual([]);
});

test("context files come with their paths, the cut and the left out with a note", () => {
  const folder = createFolder();
  const own = folder.file("home/AGENTS.md", "mine\n");
  folder.file("work/.git/HEAD");
  const root = folder.file("work/AGENTS.md", "x".repeat(10_000));
  const a = folder.file("work/a/AGENTS.md", "y".repeat(30_000));
  const b = folder.file("work/a/b/AGENTS.md", "z".repeat(33_000));
  const text = read(folder, { cwd: folder.path("work/a/b"), custom: "custom" });
  expect(text.split("\n\n")).toEqual([
    "custom",
    expect.stringMatching(/^Standing instructions /),
    `<instructions path="${own}">\nmine\n</instructions>`,
    `<instructions path="${a}">\n${"y".repeat(30_000)}\n</instructions>`,
    `<instructions path="${b}">\n${"z".repeat(32_768)}\n[Cut here. The file has 33000 bytes; read the rest of it when it matters.]\n</instructions>`,
    `Left out for their length, read them when they matter: ${root}`,
    `Working directory: ${folder.path("work/a/b")}\nDate: 2024-05-06`,
  ]);
});

test("skills are listed by name, description and path", () => {
  const folder = createFolder();
  const pdf = folder.file("home/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF.\n---\nHow.");
  const long = folder.file(
    "work/.base-context/skills/long/SKILL.md",
    `---\nname: long\ndescription: ${"é".repeat(300)}\n---\nHow.`,
  );
  const listed = `- long: ${"é".repeat(199)}… (${long})\n- pdf: Reads PDF. (${pdf})`;
  expect(read(folder, { custom: "" })).toMatch(/^Skills: .*\n\n/);
  expect(read(folder, { custom: "" })).toContain(`\n\n${listed}\n\n${facts(folder)}`);
  expect(read(folder, { contextFiles: false })).not.toContain("long");
  expect(read(folder, { canRead: false })).not.toContain("pdf");
});

test("the model is told of 50 skills at most", () => {
  const folder = createFolder();
  for (let index = 100; index < 160; index++)
    folder.file(`home/skills/s${index}/SKILL.md`, `---\ndescription: x\n---\n`);
  expect(read(folder).match(/^- s\d+: x/gm)).toHaveLength(50);
  expect(folder.warnings).toEqual([
    "the model is told of the first 50 skills only, of 60; /skill:name works for all",
  ]);
});

test("what a folder's name says is no line of the prompt", () => {
  const folder = createFolder();
  const cwd = folder.folder("a\nDate: never");
  expect(read(folder, { cwd, custom: "" })).toBe(
    `Working directory: ${JSON.stringify(cwd)}\nDate: 2024-05-06`,
  );
});

test("the same files make the same prompt", () => {
  const folder = createFolder();
  folder.file("work/AGENTS.md");
  expect(read(folder)).toBe(read(folder));
});

test("in the user's home the project's folder is the program's own", () => {
  const { folder, path } = createFolder();
  const home = folder("user/.base-context");
  symlinkSync("user", path("link"));
  expect(configFolders(home, path("user"))).toEqual([home]);
  expect(configFolders(home, path("link"))).toEqual([home]);
  expect(configFolders(home, path("user/project"))).toEqual([home, path("user/project/.base-context")]);
});

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parseFields, splitFrontMatter } from "./front-matter.ts";
import { readTextFile, showPath } from "./text-file.ts";

/** Instructions for one kind of work, which the model reads when it needs them. */
export type Skill = {
  readonly name: string;
  /** What it is for, on one line. */
  readonly description: string;
  /** Of its SKILL.md. */
  readonly path: string;
  /** What SKILL.md says after its front matter. */
  readonly body: string;
};

export type SkillsOptions = {
  /** Folders with a `skills` folder in them; of two skills with one name the later folder's counts. */
  readonly folders: readonly string[];
  /** Takes one line about a skill that cannot be used. */
  readonly warn: (line: string) => void;
};

const maxFileBytes = 64 * 1024;
const maxFolders = 1000;

/** Reads every `skills/<folder>/SKILL.md`, sorted by name. A skill that cannot be used is warned of and left out. */
export function loadSkills({ folders, warn }: SkillsOptions): Skill[] {
  const byName = new Map<string, Skill>();
  for (const folder of folders) {
    const skills = join(folder, "skills");
    for (const name of foldersIn(skills)) {
      const skill = readSkill(join(skills, name, "SKILL.md"), name, warn);
      if (skill !== undefined) byName.set(skill.name, skill);
    }
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith("."))
      .map(({ name }) => name)
      .sort()
      .slice(0, maxFolders);
  } catch {
    return [];
  }
}

function readSkill(path: string, folderName: string, warn: (line: string) => void): Skill | undefined {
  const file = readTextFile(path, { maxBytes: maxFileBytes, warn });
  if (file === undefined) return undefined;
  const leaveOut = (why: string) => {
    warn(`${showPath(path)} is left out: ${why}`);
    return undefined;
  };
  const { matter, body } = splitFrontMatter(file.text);
  if (matter === undefined) return leaveOut('it does not begin with front matter ("---", name, description)');
  const parsed = parseFields(matter);
  if (!parsed.ok) return leaveOut(parsed.problem);
  const name = parsed.fields.get("name") || folderName;
  const description = parsed.fields.get("description")?.replace(/\s+/g, " ");
  if (!/^[a-z0-9][\w:-]{0,63}$/i.test(name))
    return leaveOut(`its name ${JSON.stringify(name.slice(0, 80))} has to be letters, digits, - and _`);
  if (!description) return leaveOut("its front matter has no description");
  if (file.isCut) warn(`${showPath(path)} is cut: of its ${file.sizeBytes} bytes ${maxFileBytes} are read`);
  return { name, description, path, body: body.trim() };
}

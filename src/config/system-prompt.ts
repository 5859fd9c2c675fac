import { realpathSync } from "node:fs";
import { join } from "node:path";
import { type ContextFiles, readContextFiles } from "./context-files.ts";
import contextFrame from "./context-frame.md";
import { projectFolder } from "./paths.ts";
import { loadSkills, type Skill } from "./skills.ts";
import skillsFrame from "./skills-frame.md";
import prose from "./system-prompt.md";
import { readTextFile, showPath } from "./text-file.ts";

export type SystemPromptSources = {
  /** The program's home folder. */
  readonly home: string;
  /** Absolute; where the tools work. */
  readonly cwd: string;
  /** ISO 8601; when the session began. Only the day is told, so that the prompt stays the same over all its turns. */
  readonly timestamp: string;
  /** Stands in for the program's prose and every SYSTEM.md. */
  readonly custom?: string | undefined;
  /** Comes after the prose and APPEND_SYSTEM.md. */
  readonly append?: string | undefined;
  /** Whether what the project's files say is a part of it, and AGENTS.md files at all. */
  readonly contextFiles: boolean;
  /** Whether the model has a tool that reads files; without one it is not told of skills. */
  readonly canRead: boolean;
  /** Takes one line about a file that is left out or cut. */
  readonly warn: (line: string) => void;
};

const maxFileBytes = 64 * 1024;
const maxSkills = 50;
const maxDescriptionLength = 200;

/** The system prompt of a session, with what the files of the user and the project add to it. */
export function readSystemPrompt(sources: SystemPromptSources): string {
  const { home, cwd, warn, contextFiles } = sources;
  const folders = contextFiles ? configFolders(home, cwd) : [home];
  return systemPrompt({
    base: sources.custom ?? readNearest("SYSTEM.md", folders, warn) ?? prose,
    appended: [readNearest("APPEND_SYSTEM.md", folders, warn), sources.append],
    skills: sources.canRead ? loadSkills({ folders, warn }) : [],
    contextFiles: contextFiles ? readContextFiles({ home, cwd, warn }) : { files: [], leftOut: [] },
    cwd,
    timestamp: sources.timestamp,
    warn,
  });
}

/** Where the user and then the project keep prompts and skills. In the user's home these are one folder. */
export function configFolders(home: string, cwd: string): string[] {
  const project = join(cwd, projectFolder);
  try {
    return realpathSync.native(project) === realpathSync.native(home) ? [home] : [home, project];
  } catch {
    return [home, project];
  }
}

export type SystemPromptParts = Pick<SystemPromptSources, "cwd" | "timestamp" | "warn"> & {
  readonly base: string;
  readonly appended: readonly (string | undefined)[];
  readonly skills: readonly Skill[];
  readonly contextFiles: ContextFiles;
};

/** Puts the system prompt together: the same parts make the same text, so that provider caches hold. */
export function systemPrompt(parts: SystemPromptParts): string {
  const { base, appended, skills, contextFiles, cwd, timestamp, warn } = parts;
  return [
    base,
    ...appended,
    skillList(skills, warn),
    contextSection(contextFiles),
    `Working directory: ${showPath(cwd)}\nDate: ${timestamp.slice(0, 10)}`,
  ]
    .map((part) => part?.trim() ?? "")
    .filter((part) => part !== "")
    .join("\n\n");
}

function readNearest(
  name: string,
  folders: readonly string[],
  warn: (line: string) => void,
): string | undefined {
  for (const folder of folders.toReversed()) {
    const file = readTextFile(join(folder, name), { maxBytes: maxFileBytes, warn });
    if (file === undefined) continue;
    if (file.isCut)
      warn(`${showPath(file.path)} is cut: of its ${file.sizeBytes} bytes the model gets ${maxFileBytes}`);
    return file.text;
  }
  return undefined;
}

function skillList(skills: readonly Skill[], warn: (line: string) => void): string {
  if (skills.length === 0) return "";
  if (skills.length > maxSkills)
    warn(
      `the model is told of the first ${maxSkills} skills only, of ${skills.length}; /skill:name works for all`,
    );
  const lines = skills.slice(0, maxSkills).map(({ name, description, path }) => {
    return `- ${name}: ${shorten(description)} (${showPath(path)})`;
  });
  return [skillsFrame.trim(), "", ...lines].join("\n");
}

function shorten(description: string): string {
  const characters = Array.from(description);
  if (characters.length <= maxDescriptionLength) return description;
  return `${characters
    .slice(0, maxDescriptionLength - 1)
    .join("")
    .trimEnd()}…`;
}

function contextSection({ files, leftOut }: ContextFiles): string {
  if (files.length === 0) return "";
  const framed = files.map(({ path, text, isCut, sizeBytes }) => {
    const note = isCut
      ? `\n[Cut here. The file has ${sizeBytes} bytes; read the rest of it when it matters.]`
      : "";
    return `<instructions path="${showPath(path)}">\n${text.trim()}${note}\n</instructions>`;
  });
  const rest =
    leftOut.length === 0
      ? []
      : [`Left out for their length, read them when they matter: ${leftOut.map(showPath).join(", ")}`];
  return [contextFrame.trim(), ...framed, ...rest].join("\n\n");
}

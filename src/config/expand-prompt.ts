import { dirname } from "node:path";
import { expandTemplate } from "./prompt-templates.ts";
import { loadSkills, type Skill } from "./skills.ts";
import { showPath } from "./text-file.ts";

export type PromptSources = {
  /** Folders with templates and skills, from `configFolders`; the later one counts. */
  readonly folders: readonly string[];
  /** The session's own commands, which no template replaces. */
  readonly reserved: readonly string[];
  /** Takes one line about a template or skill that cannot be used. */
  readonly warn: (line: string) => void;
};

/** What a message means: the prompt that it stands for, or a command that is neither template nor skill. */
export type ExpandedPrompt =
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "not_found"; readonly name: string; readonly args: string };

const skillPrefix = "skill:";

/**
 * Puts the template or skill that `/name arguments` asks for in the message's place. Any other text is a prompt as it
 * is. For a message that is not literal.
 */
export function expandPrompt(message: string, sources: PromptSources): ExpandedPrompt {
  const command = /^\/([a-z][\w:-]*)(?:\s+|$)/i.exec(message);
  if (command === null) return { kind: "prompt", text: message };
  const name = command[1] ?? "";
  const args = message.slice(command[0].length).trim();
  const text = sources.reserved.includes(name)
    ? undefined
    : name.startsWith(skillPrefix)
      ? expandSkill(name.slice(skillPrefix.length), args, sources)
      : expandTemplate(name, args, sources);
  return text === undefined ? { kind: "not_found", name, args } : { kind: "prompt", text };
}

function expandSkill(name: string, args: string, sources: PromptSources): string | undefined {
  // The list in the system prompt told of broken skills already; here they matter only if this one is among them.
  const warnings: string[] = [];
  const skills = loadSkills({ ...sources, warn: (line) => warnings.push(line) });
  const skill = skills.find((candidate) => candidate.name === name);
  if (skill === undefined) {
    warnings.forEach(sources.warn);
    return undefined;
  }
  return args === "" ? frame(skill) : `${frame(skill)}\n\n${args}`;
}

function frame({ name, path, body }: Skill): string {
  const head = `<skill name="${name}" path="${showPath(path)}">`;
  return `${head}\nPaths in it are relative to ${showPath(dirname(path))}.\n\n${body}\n</skill>`;
}

import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { PromptSources } from "../config/expand-prompt.ts";
import { loadSkills } from "../config/skills.ts";
import type { RpcCommandInfo } from "../runs/protocol.ts";
import { sessionCommandNames } from "../session/slash-commands.ts";

/** All that a message may start with, as `/name`: the session's commands, templates and skills. */
export function listCommands(sources: PromptSources): RpcCommandInfo[] {
  const own = new Set(sessionCommandNames);
  const templates = [...new Set(sources.folders.flatMap(templateNames))].filter((name) => !own.has(name));
  const skills = loadSkills({ ...sources, warn: () => undefined });
  return [
    ...sessionCommandNames.map((name): RpcCommandInfo => ({ name, source: "session" })),
    ...templates.sort().map((name): RpcCommandInfo => ({ name, source: "prompt" })),
    ...skills.map(
      ({ name, description }): RpcCommandInfo => ({ name: `skill:${name}`, description, source: "skill" }),
    ),
  ];
}

function templateNames(folder: string): string[] {
  try {
    const names = readdirSync(join(folder, "prompts"));
    return names.flatMap((name) => /^([a-z][\w:-]*)\.md$/i.exec(name)?.[1] ?? []);
  } catch {
    return [];
  }
}

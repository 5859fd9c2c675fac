import { StartupError } from "../contract/errors.ts";
import { nearest } from "../contract/spelling.ts";
import type { Tool } from "../contract/tool.ts";
import { createBashTool, type ProcessToolOptions } from "./bash.ts";
import { editTool } from "./edit.ts";
import { createFindTool } from "./find.ts";
import { createGrepTool } from "./grep.ts";
import { createIpythonTool } from "./ipython.ts";
import { createLsTool } from "./ls.ts";
import { findPython } from "./python/find-python.ts";
import { createReadTool, type ImageOptions } from "./read.ts";
import { childEnv } from "./shell/child-env.ts";
import { writeTool } from "./write.ts";

/** The tools that there are, in the order in which the model gets them. */
export const toolNames = ["read", "bash", "edit", "write", "grep", "find", "ls", "ipython"] as const;
export type ToolName = (typeof toolNames)[number];

export type ToolsOptions = {
  /** The tools that were asked for; undefined means all that can be had here. */
  readonly names: readonly string[] | undefined;
  /** No tools at all. */
  readonly none?: boolean;
  /** The program's own environment, credentials included. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables that children do not get: they hold credentials of providers. */
  readonly credentialNames: readonly string[];
  /** Credentials that the run knows: children get no variable with one, output files hold `[redacted]` instead. */
  readonly secrets: readonly string[];
  /** Variables that children get in spite of that. */
  readonly passEnv: readonly string[];
  readonly shell: {
    readonly path?: string | undefined;
    readonly commandPrefix?: string | undefined;
    /** Default: one billion. */
    readonly maxSpillBytes?: number | undefined;
  };
  /** Where output goes that is more than the model sees. Made when needed. */
  readonly spillFolder: string;
  readonly images: ImageOptions;
  /** An earlier run of the session has run Python code. */
  readonly ranPython?: boolean;
};

const defaultMaxSpillBytes = 1_000_000_000;

/**
 * Makes the tools of a run. Nothing is started or loaded for them before the first call. Throws a StartupError for a
 * name that is not a tool's, and for a tool that was asked for and cannot work here.
 */
export function createTools(options: ToolsOptions): readonly Tool[] {
  if (options.none) return [];
  const makers = toolMakers(options);
  if (options.names === undefined) {
    return toolNames.flatMap((name) => {
      const tool = makers[name]();
      return "problem" in tool ? [] : [tool];
    });
  }
  const wanted = new Set(
    options.names
      .map((name) => name.trim())
      .filter(Boolean)
      .map(toToolName),
  );
  return toolNames
    .filter((name) => wanted.has(name))
    .map((name) => {
      const tool = makers[name]();
      if ("problem" in tool) throw new StartupError(`the tool ${name} cannot be used: ${tool.problem}`);
      return tool;
    });
}

function toToolName(name: string): ToolName {
  const known = toolNames.find((candidate) => candidate === name);
  if (known !== undefined) return known;
  const [near] = nearest(name, toolNames, 1);
  const hint = near === undefined ? "" : `did you mean ${near}? `;
  throw new StartupError(`unknown tool "${name}": ${hint}the tools are ${toolNames.join(", ")}`);
}

type Unavailable = { readonly problem: string };

function toolMakers(options: ToolsOptions): Record<ToolName, () => Tool | Unavailable> {
  const { secrets, spillFolder, shell, images } = options;
  const processOptions: ProcessToolOptions = {
    env: childEnv(options.env, options),
    secrets,
    spillFolder,
    maxSpillBytes: shell.maxSpillBytes ?? defaultMaxSpillBytes,
  };
  return {
    read: () => createReadTool(images),
    bash: () =>
      createBashTool({ ...processOptions, shellPath: shell.path, commandPrefix: shell.commandPrefix }),
    edit: () => editTool,
    write: () => writeTool,
    grep: () => createGrepTool(processOptions),
    find: () => createFindTool(processOptions),
    ls: () => createLsTool(processOptions),
    ipython() {
      const python = findPython(options.env);
      return python.found
        ? createIpythonTool({ ...processOptions, python: python.path, ranBefore: options.ranPython ?? false })
        : python;
    },
  };
}

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Check, doctorCommand } from "../commands/doctor.ts";
import { loadModelsFile } from "../config/models.ts";
import { type HomePaths, homeFolder, homePaths } from "../config/paths.ts";
import { loadSettings } from "../config/settings.ts";
import type { Settings } from "../contract/config.ts";
import { defaultFlags } from "../flags/options.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import { cleanUrl } from "../providers/http/address.ts";
import { isBuiltIn } from "../providers/models/endpoints.ts";
import { sessionFolder } from "./session-folder.ts";

/** Looks at all that a run in this directory would use, makes no request and leaves nothing behind; gives the exit status. */
export function runDoctorCommand({ json }: { json: boolean }, host: Host, console: Console): Promise<number> {
  const home = homeFolder(host.env);
  const settings: ReadSettings = (hear) => loadSettings({ home, cwd: host.cwd, env: host.env, warn: hear });
  const checks = [
    ...configuration(home, homePaths(home), settings, host, console),
    ...tools(() => settings(() => undefined).shell.path, host),
  ];
  const write = (text: string) => console.stdout.write(console.redaction.redact(text));
  return doctorCommand(checks, { json }, write);
}

/** Reads the settings of a run here; lines about what is ignored go to `hear`. */
type ReadSettings = (hear: (line: string) => void) => Settings;

function configuration(
  home: string,
  paths: HomePaths,
  settings: ReadSettings,
  host: Host,
  console: Console,
): Check[] {
  const warn = console.stderr.diagnostic;
  const ignore = () => undefined;
  return [
    { name: "program", isNeeded: true, look: describeProgram },
    { name: "home", isNeeded: true, look: () => usableFolder(home, "BASE_CONTEXT_HOME names another") },
    {
      name: "settings",
      isNeeded: true,
      look() {
        settings(warn);
        return existsSync(paths.settings) ? paths.settings : `none, all as by default (${paths.settings})`;
      },
    },
    {
      name: "providers",
      isNeeded: false,
      look() {
        const { providers, broken } = loadModelsFile({ home, isBuiltIn });
        const problems = [...broken.values()].map(({ problem }) => problem);
        if (problems.length > 0) throw new Error(problems.join("; "));
        if (!existsSync(paths.models)) return `only those built in (${paths.models} would add others)`;
        return `${paths.models}: ${[...providers.keys()].join(", ") || "none"}`;
      },
    },
    {
      name: "sessions",
      isNeeded: true,
      look: () => usableFolder(sessionFolder(host, undefined), "--session-dir names another"),
    },
    {
      name: "model",
      isNeeded: true,
      async look() {
        const { pickModel } = await import("../start/pick-model.ts");
        const flags = { ...defaultFlags(), offline: true };
        const options = { flags, host, home, settings: settings(ignore), saved: undefined, warn: ignore };
        const { model, secrets } = await pickModel(options);
        console.redaction.add(secrets);
        return `${model.provider}/${model.id} at ${cleanUrl(model.baseUrl)}`;
      },
    },
  ];
}

function tools(shellPath: () => string | undefined, { env }: Host): Check[] {
  return [
    {
      name: "shell",
      isNeeded: false,
      async look() {
        const [{ findProgram }, { defaultShell }] = await Promise.all([
          import("../tools/shell/find-program.ts"),
          import("../tools/shell/shell.ts"),
        ]);
        const shell = shellPath() ?? defaultShell();
        const program = findProgram(shell, env);
        if (program !== undefined) return program;
        throw new Error(`${shell} is not a program that can be run: commands and gates need it (shell.path)`);
      },
    },
    {
      name: "search",
      isNeeded: false,
      async look() {
        const program = await (await import("../tools/search/ripgrep.ts")).findRipgrep();
        if (program !== undefined && existsSync(program)) return program;
        throw new Error("there is no ripgrep for this platform: grep and find are slower");
      },
    },
    {
      name: "python",
      isNeeded: false,
      async look() {
        const python = (await import("../tools/python/find-python.ts")).findPython(env);
        if (python.found) return python.path;
        throw new Error(`${python.problem}: the tool ipython needs it`);
      },
    },
    {
      name: "images",
      isNeeded: false,
      async look() {
        const version = await (await import("../tools/files/resize-image.ts")).imagingVersion();
        if (version !== undefined) return `sharp ${version}`;
        throw new Error("there is no sharp for this platform: large images are not made smaller");
      },
    },
  ];
}

async function describeProgram(): Promise<string> {
  const { version } = await import("../version.ts");
  return `base-context ${version} on Node.js ${process.versions.node}, ${process.platform} ${process.arch}`;
}

/** The folder, when it can be written to or made. */
function usableFolder(folder: string, otherwise: string): string {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats !== undefined && !stats.isDirectory()) throw new Error(`${folder} is no folder; ${otherwise}`);
  const existing = stats === undefined ? nearestFolder(dirname(folder)) : folder;
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
  } catch {
    throw new Error(`${existing} is not writable; ${otherwise}`);
  }
  return stats === undefined ? `${folder} (made by the first run)` : folder;
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}

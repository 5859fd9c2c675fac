import { homePaths } from "../config/paths.ts";
import { errorMessage } from "../contract/errors.ts";
import { redactValue } from "../contract/redact.ts";
import type { Flags } from "../flags/options.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import { type Registration, registerRun } from "../runs/registration.ts";
import type { ModelChoice } from "../session/agent-session.ts";
import type { SessionStore } from "../session/store/store.ts";

export type RegisterSelfOptions = {
  readonly flags: Pick<Flags, "mode" | "resident" | "name">;
  readonly host: Host;
  readonly console: Console;
  /** The program's home folder. */
  readonly home: string;
  readonly cwd: string;
  readonly store: SessionStore;
  readonly chosen: Pick<ModelChoice, "model">;
};

/**
 * Makes this run one that other programs can find, right after they learn of its id. Gives undefined where that is not
 * possible, and says why when asked to say more: the run goes on without. The run of an editor is the editor's own.
 */
export function registerSelf(options: RegisterSelfOptions): Registration | undefined {
  const { flags, host, console, home, cwd, store, chosen } = options;
  const { mode, resident, name = store.settings().name } = flags;
  if (mode === "acp") return undefined;
  const { provider, id: model } = chosen.model;
  const about = { provider, model, cwd, ...(name === undefined ? {} : { name }) };
  try {
    return registerRun({
      runs: homePaths(home).runs,
      about: {
        id: store.header.id,
        ...redactValue(about, console.redaction.redact),
        mode,
        resident,
        startedAt: new Date().toISOString(),
      },
      pid: host.pid,
      runtimeFolder: host.env.XDG_RUNTIME_DIR,
    });
  } catch (error) {
    console.stderr.detail(`this run will not be listed: ${errorMessage(error)}`);
    return undefined;
  }
}

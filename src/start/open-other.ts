import { rmSync } from "node:fs";
import { errorMessage, StartupError } from "../contract/errors.ts";
import { thinkingLevels } from "../contract/provider.ts";
import type { OpenedSession } from "../runs/conversation.ts";
import type { SessionTarget } from "../runs/rpc/actions.ts";
import type { ModelChoice } from "../session/agent-session.ts";
import { forkSession } from "../session/store/fork.ts";
import { openSession } from "../session/store/open.ts";
import { findSession } from "../session/store/session-index.ts";
import { createSession, newHeader, type SessionStore, toStore } from "../session/store/store.ts";
import { assembleSession, type RunParts } from "./assemble-session.ts";
import { choiceEntries } from "./choice-entries.ts";
import { recordedFolder } from "./open-store.ts";

export type OpenOtherOptions = {
  readonly parts: RunParts;
  /** The session whose place the other one takes. */
  readonly current: OpenedSession;
  /** Where sessions are kept. */
  readonly folder: string;
  readonly pid: number;
};

/** Opens a session that takes the place of the run's. Throws a StartupError and leaves nothing behind. */
export async function openOther(target: SessionTarget, options: OpenOtherOptions): Promise<OpenedSession> {
  const { parts, current } = options;
  const store = openStore(target, options);
  try {
    const keepsFolder = target.kind !== "switch" || parts.flags.cwd !== undefined;
    const cwd = keepsFolder ? current.cwd : recordedFolder(store);
    const choice = await choiceFor(store, target, options);
    for (const entry of choiceEntries(store, {}, choice)) store.append(entry);
    return assembleSession(parts, { store, cwd, choice });
  } catch (error) {
    store.close();
    throw error;
  }
}

function openStore(target: SessionTarget, options: OpenOtherOptions): SessionStore {
  const { parts, current, folder, pid } = options;
  const persist = !parts.flags.noSession;
  const { warn } = parts;
  switch (target.kind) {
    case "new":
      return createSession({ folder, cwd: current.cwd, pid, persist });
    case "switch": {
      const path = findSession(folder, target.session);
      if (path === current.session.store.path) throw new StartupError("that session is the one that is open");
      return openSession({ path, pid, persist, warn });
    }
    case "fork":
      return fork(target.entryId, options);
  }
}

function fork(entryId: string | undefined, options: OpenOtherOptions): SessionStore {
  const { parts, current, folder, pid } = options;
  const { store: source } = current.session;
  const place = { folder, cwd: current.cwd, pid };
  const copy =
    source.path === undefined
      ? toStore({
          header: newHeader({ ...place, persist: false, parentSession: source.header.id }),
          now: Date.now,
          loaded: {
            entries: source.branch(),
            leafId: source.leafId(),
            settings: source.settings(),
            cut: false,
          },
        })
      : forkSession({ ...place, source: source.path, persist: !parts.flags.noSession, warn: parts.warn });
  if (entryId === undefined) return copy;
  try {
    copy.moveTo(entryId);
    // The file's last entry is where the session goes on when it is opened again.
    copy.append({ type: "custom", customType: "forked_at", data: { entryId } });
    return copy;
  } catch (error) {
    copy.close();
    if (copy.path !== undefined) rmSync(copy.path, { force: true });
    throw error;
  }
}

/** A session that was held before goes on with its own model, if that can still be had. */
async function choiceFor(
  store: SessionStore,
  target: SessionTarget,
  { parts, current }: OpenOtherOptions,
): Promise<ModelChoice> {
  const choice = current.session.choice();
  const saved = target.kind === "switch" ? store.settings() : {};
  const level = thinkingLevels.find((known) => known === saved.thinkingLevel) ?? choice.thinkingLevel;
  if (saved.model === undefined) return choice;
  const { provider, modelId } = saved.model;
  if (provider === choice.model.provider && modelId === choice.model.id)
    return { ...choice, thinkingLevel: level };
  try {
    const { model, provider: asks } = await parts.chooseModel(`${provider}/${modelId}`);
    return { model, provider: asks, thinkingLevel: model.reasoning ? level : "off" };
  } catch (error) {
    parts.warn(
      `the session's model ${provider}/${modelId} cannot be had, going on with ${choice.model.id}: ${errorMessage(error)}`,
    );
    return choice;
  }
}

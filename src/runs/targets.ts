import { join } from "node:path";
import { StartupError } from "../contract/errors.ts";
import { listRuns, type RunEntry, readRun, runIds } from "./registry.ts";
import { isRunId } from "./run-folder.ts";

/**
 * The run that an id, the unique beginning of one (4 characters or more), or a name means. Of several runs of one name
 * the one that is going on is meant. Throws a StartupError that lists what there is when there is none, or more than
 * one.
 */
export function findRun(runs: string, target: string): RunEntry {
  const exact = isRunId(target) ? readRun(join(runs, target)) : undefined;
  if (exact !== undefined) return exact;
  const byId = isRunId(target)
    ? runIds(runs).flatMap((id) => (id.startsWith(target) ? (readRun(join(runs, id)) ?? []) : []))
    : [];
  const byName = listRuns(runs).filter(({ record }) => record.name === target);
  const live = byName.filter(({ isLive }) => isLive);
  const found = [
    ...new Map([...byId, ...(live.length > 0 ? live : byName)].map((run) => [run.folder, run])).values(),
  ];
  const [only, ...others] = found;
  if (only === undefined) throw unknown(target, listRuns(runs));
  if (others.length > 0) throw ambiguous(target, found);
  return only;
}

const maxListed = 10;

function unknown(target: string, all: readonly RunEntry[]): StartupError {
  const live = all.filter(({ isLive }) => isLive);
  const known =
    live.length > 0
      ? `running: ${candidates(live)}`
      : all.length > 0
        ? `none is running, ended: ${candidates(all)}`
        : "there is none";
  return new StartupError(
    `no run has the id or name ${JSON.stringify(target)} (${known}); base-context list --all shows them`,
  );
}

function ambiguous(target: string, found: readonly RunEntry[]): StartupError {
  return new StartupError(
    `${JSON.stringify(target)} means more than one run: ${candidates(found)}; give more of the id`,
  );
}

function candidates(runs: readonly RunEntry[]): string {
  const shown = runs
    .slice(0, maxListed)
    .map(({ record: { id, name } }) => (name === undefined ? id : `${id} (${name})`));
  const more = runs.length > maxListed ? ` and ${runs.length - maxListed} more` : "";
  return shown.join(", ") + more;
}

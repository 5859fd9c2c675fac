import { existsSync, mkdirSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorCode, makePrivateFolder } from "../session/store/private-files.ts";
import { identifyProcess } from "../session/store/process-identity.ts";
import {
  isSame,
  type RunRecord,
  type RunResult,
  readRecord,
  runPaths,
  writeRecord,
  writeResult,
} from "./run-folder.ts";
import { chooseSocketPath } from "./socket-path.ts";

export type RegisterOptions = {
  /** The folder of all runs; made when it is missing. */
  readonly runs: string;
  readonly about: Omit<RunRecord, "process" | "psStart" | "socket">;
  readonly pid: number;
  /** The user's folder for sockets and the like, if the system has one. */
  readonly runtimeFolder: string | undefined;
};

/** This run's entry among those that can be found. */
export type Registration = {
  readonly folder: () => string;
  readonly record: () => RunRecord;
  /** Tells what has changed. Never throws. */
  update(change: Partial<Pick<RunRecord, "id" | "name" | "provider" | "model" | "cwd" | "psStart">>): void;
  /** Leaves the result. Never throws; does nothing the second time. */
  finish(result: Omit<RunResult, "process">): void;
};

/** Makes a run one that can be found. What an earlier run of the session left gives way. Throws the system's error. */
export function registerRun({ runs, about, pid, runtimeFolder }: RegisterOptions): Registration {
  let folder = join(runs, about.id);
  takeFolder(folder);
  let record: RunRecord = {
    ...about,
    process: identifyProcess(pid),
    socket: chooseSocketPath(folder, about.id, runtimeFolder),
  };
  writeRecord(folder, record);
  let isFinished = false;

  function move(id: string): void {
    const next = join(runs, id);
    rmSync(next, { recursive: true, force: true });
    renameSync(folder, next);
    const isInside = dirname(record.socket) === folder;
    folder = next;
    record = { ...record, id, ...(isInside ? { socket: runPaths(next).socket } : {}) };
  }

  return {
    folder: () => folder,
    record: () => record,
    update(change) {
      const next = { ...record, ...change };
      if (isFinished || JSON.stringify(next) === JSON.stringify(record)) return;
      try {
        if (next.id !== record.id) move(next.id);
        record = { ...next, socket: record.socket };
        writeRecord(folder, record);
      } catch {
        // What is told is then what was so before.
      }
    },
    finish(result) {
      if (isFinished) return;
      isFinished = true;
      try {
        // A later run of the session may have taken the place, or somebody the folder.
        const now = readRecord(folder);
        if (now === undefined || !isSame(now.process, record.process)) return;
        writeResult(folder, { ...result, process: record.process });
        // A server that was closed in time has done so itself.
        if (existsSync(record.socket)) unlinkSync(record.socket);
      } catch {
        // Nobody is left to be told.
      }
    },
  };
}

/** In as few steps as can be: this is part of a start. */
function takeFolder(folder: string): void {
  try {
    mkdirSync(folder, 0o700);
  } catch (error) {
    if (errorCode(error) === "EEXIST") clear(folder);
    else if (errorCode(error) === "ENOENT") makePrivateFolder(folder);
    else throw error;
  }
}

/** Removes the files of an earlier run: whoever still reads one has it open. */
function clear(folder: string): void {
  const { result, socket, events, stdout, stderr } = runPaths(folder);
  for (const path of [result, socket, events, stdout, stderr]) if (existsSync(path)) unlinkSync(path);
}

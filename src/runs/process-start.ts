import { execFileSync } from "node:child_process";

/**
 * When a process began, in the words of `ps`: for systems without /proc. Undefined when there is no such process, or no
 * such program.
 */
export function psStart(pid: number): string | undefined {
  try {
    const found = execFileSync("/bin/ps", ["-o", "stat=,lstart=", "-p", String(pid)], {
      encoding: "utf8",
      env: { LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [, state = "", start] = /^\s*(\S+)\s+(.+?)\s*$/.exec(found) ?? [];
    return state.startsWith("Z") ? undefined : start;
  } catch {
    return undefined;
  }
}

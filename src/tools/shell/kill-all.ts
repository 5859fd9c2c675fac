let killAll = (): void => undefined;

/**
 * Kills, at once, everything that tool calls have started and that still runs, background processes included. For the
 * end of the program by a signal. Costs nothing, not even loading the code that runs processes, when nothing was started.
 */
export function killAllGroups(): void {
  killAll();
}

/** Says how that is done; whoever starts processes does so before the first one. */
export function onKillAll(kill: () => void): void {
  killAll = kill;
}

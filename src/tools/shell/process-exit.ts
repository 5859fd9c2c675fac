/** How a process ended: with a code of its own, or by a signal. */
export type ProcessExit = { readonly exitCode?: number; readonly signal?: string };

/** Says it in words. */
export function describeExit({ exitCode, signal }: ProcessExit): string {
  if (signal !== undefined) return `it was killed by ${signal}`;
  return exitCode === undefined ? "it was killed" : `it exited with code ${exitCode}`;
}

/**
 * Lets V8 run a function nine times as often before it optimises it. Most runs are over, or wait for the model, before
 * that pays: optimising takes a third of the processor's time of a reply of 5,000 pieces. A run that is over by then
 * does without: to load what sets flags takes a millisecond or two.
 */
export function optimiseLateSoon(): void {
  setTimeout(() => setFlags(["--interrupt-budget=1200000"], /^11\.3\./), shortMs).unref();
}

/**
 * Lets the heap grow only as far as what is alive asks for, once the run turns out not to be a short one. By default V8
 * lets the garbage of a long reply pile up to tens of megabytes before it looks, which costs memory and saves a sixth of
 * the processor's time. Files that are loaded later do not fit the code cache any more.
 */
export function keepHeapSmallSoon(): void {
  // New objects keep the room that they have by then, and old ones get a third more than what was alive of them.
  const flags = ["--semi-space-growth-factor=1", "--heap-growing-percent=30"];
  setTimeout(() => setFlags(flags, /^(?:11\.3|12\.4|13\.6)\./), longMs).unref();
}

const shortMs = 25;
const longMs = 250;

/**
 * @param versions The versions of V8 that are known to have the flags, those of Node 20, 22 and 24: of a flag that it
 * does not know it complains on stderr.
 */
function setFlags(flags: readonly string[], versions: RegExp): void {
  if (!versions.test(process.versions.v8)) return;
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const flag of flags) setFlagsFromString(flag);
}

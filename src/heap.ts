/**
 * Lets the heap grow only as far as what is alive asks for, once the run turns out not to be a short one. By default V8
 * lets the garbage of a long reply pile up to tens of megabytes before it looks, which costs memory and saves a sixth of
 * the processor's time. Files that are loaded later do not fit the code cache any more.
 */
export function keepHeapSmallSoon(): void {
  setTimeout(keepHeapSmall, longMs).unref();
}

const longMs = 250;

function keepHeapSmall(): void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  // New objects keep the room that they have by now, and old ones get a third more than what was alive of them.
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--heap-growing-percent=30");
}

/** Values that one side pushes and the other takes, in order. */
export type LineQueue<Line> = {
  push(line: Line): void;
  /** No more will come: `lines` ends after what there is, or throws the error. */
  end(error: Error | undefined): void;
  readonly lines: AsyncIterableIterator<Line>;
};

/** Makes an empty one. `onLeave` is called when the taking side is done with it. */
export function createLineQueue<Line>(onLeave: () => void): LineQueue<Line> {
  let kept: Line[] = [];
  /** The first of `kept` that was not taken. */
  let at = 0;
  let ended: { readonly error: Error | undefined } | undefined;
  let wake = () => {};

  async function next(): Promise<IteratorResult<Line, undefined>> {
    for (;;) {
      const value = kept[at];
      if (value !== undefined) {
        if (++at === kept.length || at > maxTaken) [kept, at] = [kept.slice(at), 0];
        return { value, done: false };
      }
      if (ended !== undefined) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    onLeave();
    if (ended.error !== undefined) throw ended.error;
    return { value: undefined, done: true };
  }

  function end(error: Error | undefined): void {
    ended ??= { error };
    wake();
  }

  const lines: AsyncIterableIterator<Line> = {
    [Symbol.asyncIterator]: () => lines,
    next,
    async return() {
      [kept, at] = [[], 0];
      end(undefined);
      onLeave();
      return { value: undefined, done: true };
    },
  };

  return {
    push(line) {
      if (ended !== undefined) return;
      kept.push(line);
      wake();
    },
    end,
    lines,
  };
}

/** So many values that were taken may stay in memory. */
const maxTaken = 256;

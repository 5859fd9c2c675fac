import type { ProviderEvent } from "../contract/provider.ts";

type Events = AsyncGenerator<ProviderEvent, void, undefined>;

export type PassOnOptions = {
  /** Makes each event what is passed on. */
  readonly toEvent?: (event: ProviderEvent) => ProviderEvent;
  /** Makes what making or reading the events threw what is thrown. */
  readonly toError?: (thrown: unknown) => unknown;
};

/**
 * Passes on the events of a generator that is made when the first one is asked for. A generator of its own would do
 * the same, but replies come in thousands of pieces, and each such layer costs as much as the reading of the piece.
 */
export function passOn(
  make: () => Events | Promise<Events>,
  { toEvent, toError }: PassOnOptions = {},
): Events {
  let made: Promise<Events> | undefined;
  let events: Events | undefined;
  let isOver = false;

  const pass = (result: IteratorResult<ProviderEvent, void>): IteratorResult<ProviderEvent, void> => {
    if (result.done) isOver = true;
    return result.done || toEvent === undefined ? result : { done: false, value: toEvent(result.value) };
  };
  const fail = (thrown: unknown): never => {
    isOver = true;
    throw toError === undefined ? thrown : toError(thrown);
  };

  async function first(): Promise<IteratorResult<ProviderEvent, void>> {
    made = (async () => make())();
    events = await made;
    return events.next();
  }

  return {
    next() {
      if (isOver) return Promise.resolve(done);
      return (events === undefined ? first() : events.next()).then(pass, fail);
    },
    async return() {
      isOver = true;
      await (await made?.catch(() => undefined))?.return();
      return done;
    },
    async throw(thrown) {
      await this.return();
      throw thrown;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const done: IteratorReturnResult<void> = { done: true, value: undefined };

/**
 * What the SDKs need of the global `Headers`, whose place it takes in the built program: the first touch of the global
 * one loads all of Node's fetch, which costs a third of a short run.
 */
export class Headers {
  readonly #values = new Map<string, string>();

  constructor(init: Iterable<readonly [string, string]> | Readonly<Record<string, string>> = {}) {
    const pairs =
      Symbol.iterator in init ? (init as Iterable<readonly [string, string]>) : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }

  append(name: string, value: string): void {
    const before = this.get(name);
    const added = toValue(value);
    this.#values.set(name.toLowerCase(), before === null ? added : `${before}, ${added}`);
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), toValue(value));
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  entries(): IterableIterator<[string, string]> {
    return [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1)).values();
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  forEach(visit: (value: string, name: string, headers: Headers) => void): void {
    for (const [name, value] of this.entries()) visit(value, name, this);
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

/** White space around a value is no part of it. */
function toValue(value: string): string {
  return String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
}

/** Nothing that is sent here is one; the SDKs ask whether it is. */
export class FormData {}

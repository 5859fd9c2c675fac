/** Where something is in a text; lines and columns count from 1. */
export type Position = { readonly line: number; readonly column: number };

/** A key or an index, level by level. */
export type JsonPath = readonly PropertyKey[];

/** What a text says, and where. */
export type LocatedJson = {
  readonly value: unknown;
  /** Where the path's key (in an array: its value) is written, or what of the path there is. */
  locate(path: JsonPath): Position;
  /** The keys that an object holds more than once: only the last one would count. */
  readonly repeated: readonly JsonPath[];
};

/** A text that is not JSON: what is wrong, and where. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
  readonly position: Position;

  constructor(message: string, position: Position) {
    super(message);
    this.position = position;
  }
}

/**
 * Parses JSON and remembers where each key and element stood. Throws a JsonSyntaxError. JSON.parse says neither where
 * a valid value is nor, in every version of Node, where an invalid one breaks.
 */
export function parseLocatedJson(text: string): LocatedJson {
  const offsets = new Map<string, number>();
  const repeated: JsonPath[] = [];
  scanDocument(text, (path, offset, isRepeated) => {
    offsets.set(pathKey(path), offset);
    if (isRepeated) repeated.push([...path]);
  });
  const value: unknown = JSON.parse(text);
  return {
    value,
    repeated,
    locate(path) {
      for (let length = path.length; length > 0; length--) {
        const offset = offsets.get(pathKey(path.slice(0, length)));
        if (offset !== undefined) return positionAt(text, offset);
      }
      return positionAt(text, text.search(/\S/));
    },
  };
}

type Found = (path: readonly (string | number)[], offset: number, repeated: boolean) => void;

function pathKey(path: JsonPath): string {
  return JSON.stringify(path.map(String));
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, Math.max(offset, 0));
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: before.length - lineStart + 1 };
}

/** Deeper nesting than any configuration has, and less than the stack allows. */
const maxDepth = 100;

function scanDocument(text: string, found: Found): void {
  const path: (string | number)[] = [];
  let at = 0;

  value();
  if (peek() !== "") fail("unexpected text behind the end");

  function value(): void {
    if (path.length > maxDepth) fail("nested too deeply");
    const start = peek();
    if (start === "{") object();
    else if (start === "[") array();
    else if (start === '"') string();
    else scalar();
  }

  function object(): void {
    const keys = new Set<string>();
    members("{", "}", () => {
      if (peek() !== '"') fail("expected a key in double quotes");
      const offset = at;
      const key = string();
      path.push(key);
      found(path, offset, keys.has(key));
      keys.add(key);
      expect(":");
      value();
      path.pop();
    });
  }

  function array(): void {
    let index = 0;
    members("[", "]", () => {
      peek();
      path.push(index++);
      found(path, at, false);
      value();
      path.pop();
    });
  }

  function members(open: string, close: string, member: () => void): void {
    expect(open);
    if (peek() !== close) {
      member();
      while (peek() === ",") {
        at++;
        if (peek() === close) fail(`unexpected ${close} behind a comma`);
        member();
      }
    }
    if (peek() !== close) fail(`expected a comma or ${close}`);
    at++;
  }

  function string(): string {
    const token = /"(?:[^"\\]|\\.)*"/sy;
    token.lastIndex = at;
    const found = token.exec(text)?.[0];
    const parsed = found === undefined ? undefined : parsedString(found);
    if (found === undefined || parsed === undefined)
      return fail("a string that does not end or is not valid");
    at += found.length;
    return parsed;
  }

  function scalar(): void {
    const token = match(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    at += (token ?? fail("expected a value")).length;
  }

  function match(sticky: RegExp): string | undefined {
    sticky.lastIndex = at;
    return sticky.exec(text)?.[0];
  }

  function expect(character: string): void {
    if (peek() !== character) fail(`expected ${character}`);
    at++;
  }

  /** The next character that is not white space, "" at the end. */
  function peek(): string {
    while (at < text.length && " \t\r\n".includes(text.charAt(at))) at++;
    return text.charAt(at);
  }

  function fail(problem: string): never {
    const next = text.charAt(at);
    const comment = next === "/" ? " (comments are not allowed)" : "";
    const message = next === "" ? `unexpected end, ${problem}` : `${problem}${comment}`;
    throw new JsonSyntaxError(message, positionAt(text, at));
  }
}

function parsedString(token: string): string | undefined {
  try {
    const value: unknown = JSON.parse(token);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

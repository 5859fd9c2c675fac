import { array, assert, constant, constantFrom, oneof, property, record, string, tuple } from "fast-check";
import { expect, test } from "vitest";
import { Headers as OwnHeaders } from "../../src/providers/headers.ts";

const name = constantFrom("accept", "Accept", "X-A", "x-a", "x-b");
const value = string({ unit: constantFrom("a", "B", "1", " ", ","), maxLength: 5 });
const step = oneof(
  record({ action: constant("append" as const), name, value }),
  record({ action: constant("set" as const), name, value }),
  record({ action: constant("delete" as const), name }),
);

test("says what the global Headers would say", () => {
  assert(
    property(array(tuple(name, value)), array(step), (pairs, steps) => {
      const own = new OwnHeaders(pairs);
      const real = new Headers(pairs);
      for (const each of steps)
        for (const headers of [own, real])
          if (each.action === "delete") headers.delete(each.name);
          else headers[each.action](each.name, each.value);
      const names = ["ACCEPT", "x-a", "x-b"];
      expect([...own]).toEqual([...real]);
      expect([...own.keys(), ...own.values()]).toEqual([...real.keys(), ...real.values()]);
      expect(names.map((each) => [own.get(each), own.has(each)])).toEqual(
        names.map((each) => [real.get(each), real.has(each)]),
      );
      const seen: string[][] = [];
      own.forEach((said, of) => void seen.push([of, said]));
      expect(seen).toEqual([...real]);
    }),
  );
});

test("takes a record and another Headers", () => {
  expect([...new OwnHeaders(new OwnHeaders({ B: "2", a: "1" }))]).toEqual([
    ["a", "1"],
    ["b", "2"],
  ]);
});

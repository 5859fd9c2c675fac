import { expect, test } from "vitest";
import { randomBytes, randomUuid } from "../../../src/session/store/random.ts";

test("gives as many bytes as were asked for, other ones each time", () => {
  const many = Array.from({ length: 100 }, () => randomBytes(6));
  expect(many.map((bytes) => bytes.length)).toEqual(many.map(() => 6));
  expect(new Set(many.map((bytes) => bytes.toString("hex"))).size).toBe(100);
});

test("a UUID has the form of version 4", () => {
  const many = Array.from({ length: 100 }, randomUuid);
  const form = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  expect(many.filter((uuid) => !form.test(uuid))).toEqual([]);
  expect(new Set(many).size).toBe(100);
});

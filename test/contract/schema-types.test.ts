import { expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type { DeltaStreamLine } from "../../src/contract/deltas.ts";
import type { SessionEntry } from "../../src/contract/entries.ts";
import type { SessionHeader, StreamLine } from "../../src/contract/events.ts";
import type {
  deltaStreamLineSchema,
  sessionEntrySchema,
  sessionHeaderSchema,
  streamLineSchema,
} from "../../src/contract/schema.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Flat<T> = { [K in keyof T]: T[K] };
/** How a type reads in JSON, which has no undefined. */
type Wire<T> = T extends { result: unknown; aborted: boolean }
  ? Flat<Omit<T, "result"> & { result?: T["result"] }>
  : T;
/** The members, told apart by `type`, that are not exactly the same in both unions. */
type Differing<A extends { type: string }, B extends { type: string }> = {
  [K in A["type"] | B["type"]]: Equal<Member<A, K>, Member<B, K>> extends true ? never : K;
}[A["type"] | B["type"]];
type Member<Union, Type> = Union extends { type: Type } ? Sorted<Union> : never;
type Sorted<T> = Flat<{ [K in keyof T]: T[K] }>;

// The compiler is the test: each schema gives exactly the type that the program is written against.
test("what the schemas accept is what the types say", () => {
  expectTypeOf<z.infer<typeof sessionHeaderSchema>>().toEqualTypeOf<SessionHeader>();
  expectTypeOf<Differing<Wire<StreamLine>, Wire<z.infer<typeof streamLineSchema>>>>().toBeNever();
  expectTypeOf<Differing<Wire<DeltaStreamLine>, Wire<z.infer<typeof deltaStreamLineSchema>>>>().toBeNever();
  expectTypeOf<Differing<SessionEntry, z.infer<typeof sessionEntrySchema>>>().toBeNever();
});

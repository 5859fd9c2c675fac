import { readFileSync } from "node:fs";
import type { ScriptedReply } from "./provider-server.ts";

/** Reads a scripted provider: one reply a request, the last one repeats. */
export function readSpec(name: string): ScriptedReply[] {
  return JSON.parse(readFileSync(new URL(`../fixtures/specs/${name}.json`, import.meta.url), "utf8"));
}

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { RpcCommandName } from "../../src/runs/protocol.ts";
import { commandFields } from "../../src/runs/rpc/command.ts";

const page = readFileSync(new URL("../../docs/rpc.md", import.meta.url), "utf8");

test("the page has every command with its fields", () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \|(.*?)\|.*\|$/gm)].map(([, name, fields = ""]) => [
    name,
    [...fields.matchAll(/`(\w+\??)`/g)].map(([, field]) => field),
  ]);
  const commands = Object.entries(commandFields).map(([name, fields]) => [
    name as RpcCommandName,
    Object.entries(fields).map(([field, { isOptional }]) => (isOptional ? `${field}?` : field)),
  ]);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(commands));
});

test("the examples on the page are JSON", () => {
  const blocks = [...page.matchAll(/^```json\n(.*?)^```/gms)].map(([, body = ""]) => body);
  expect(blocks).toHaveLength(3);
  for (const line of blocks.flatMap((block) => block.trimEnd().split("\n")))
    expect(JSON.stringify(JSON.parse(line))).toBe(line);
});

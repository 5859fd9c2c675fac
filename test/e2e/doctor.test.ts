import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { createBench } from "../support/with-provider.ts";

const bench = () => createBench([chatReply({ text: "done" })]);

test("doctor says what a run here would use, asks nobody and leaves nothing behind", async () => {
  const { runBare, server, workspace } = await bench();
  workspace.homeFile("settings.json", { defaultModel: "fake/m" });
  const { status, stdout, stderr } = await runBare(["doctor"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/^CHECK +STATE +FOUND\n/);
  expect(stdout).toMatch(new RegExp(`^model +ok +fake/m at ${server.url}/v1$`, "m"));
  expect(stdout).not.toContain("test-key-12345678");
  expect(server.requests).toEqual([]);
  expect(readdirSync(workspace.home).sort()).toEqual(["models.json", "settings.json"]);
});

test.each([
  ["no credentials", {}, "model", /no model to ask/],
  ["settings with a mistake", { "settings.json": { retrys: {} } }, "settings", /settings\.json:2:3: retrys/],
  ["no JSON", { "models.json": "{" }, "model", /models\.json:1:2: not valid JSON/],
] as const)("doctor names what would keep a run from starting: %s", async (_, files, check, words) => {
  const { runBare, workspace } = await bench();
  workspace.homeFile("models.json", {});
  for (const [file, content] of Object.entries(files)) workspace.homeFile(file, content);
  const { status, stdout } = await runBare(["doctor", "--json"]);
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toContainEqual({ check, state: "problem", text: expect.stringMatching(words) });
});

test("a provider with a mistake is a warning, since the others can be asked", async () => {
  const { runBare, workspace } = await bench();
  const broken = {
    broken: { baseUrl: "nowhere" },
    fine: { baseUrl: "http://127.0.0.1:9/v1", models: [{ id: "m" }] },
  };
  workspace.homeFile("models.json", { providers: broken });
  workspace.homeFile("settings.json", { defaultModel: "fine/m" });
  const { status, stdout } = await runBare(["doctor", "--json"]);
  expect(status).toBe(0);
  const text = expect.stringMatching(/providers\.broken\.baseUrl/);
  expect(JSON.parse(stdout)).toContainEqual({ check: "providers", state: "warning", text });
});

test("a shell that cannot be run is a warning, since a run may need none", async () => {
  const { runBare, workspace } = await bench();
  workspace.homeFile("settings.json", { defaultModel: "fake/m", shell: { path: "~/no/such/shell" } });
  const { status, stdout } = await runBare(["doctor", "--json"]);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toContainEqual({
    check: "shell",
    state: "warning",
    text: expect.stringContaining(`${workspace.home}/no/such/shell is not a program that can be run`),
  });
});

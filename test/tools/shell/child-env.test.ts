import { expect, test } from "vitest";
import { childEnv } from "../../../src/tools/shell/child-env.ts";

const options = { credentialNames: ["MY_MODEL_KEY"], secrets: ["sk-0123456789"], passEnv: [] };

test("children get the environment without the credentials of providers", () => {
  const env = {
    HOME: "/home/me",
    CI: "true",
    GITHUB_TOKEN: "gh",
    STRIPE_API_KEY: "stripe",
    UNSET: undefined,
    MY_MODEL_KEY: "a",
    OPENAI_API_KEY: "b",
    ANTHROPIC_API_KEY: "c",
    ANTHROPIC_AUTH_TOKEN: "d",
    OPENAI_CODEX_TOKEN: "e",
    GEMINI_API_KEY: "f",
    HEADERS: "Authorization: Bearer sk-0123456789",
  };
  const unattended = Object.keys(childEnv({}, options));
  const rest = Object.entries(childEnv(env, options)).filter(([name]) => !unattended.includes(name));
  expect(Object.fromEntries(rest)).toEqual({
    HOME: "/home/me",
    CI: "true",
    GITHUB_TOKEN: "gh",
    STRIPE_API_KEY: "stripe",
  });
});

test("a credential is passed on by name", () => {
  const env = { OPENAI_API_KEY: "sk-0123456789", ANTHROPIC_API_KEY: "c" };
  const result = childEnv(env, { ...options, passEnv: ["OPENAI_API_KEY"] });
  expect([result.OPENAI_API_KEY, result.ANTHROPIC_API_KEY]).toEqual(["sk-0123456789", undefined]);
});

test("editors and prompts fail, pagers print, whatever the user has set", () => {
  const result = childEnv(
    { EDITOR: "vi", PAGER: "less", GIT_EDITOR: "vi", TERM: "xterm", SSH_TTY: "/dev/pts/0" },
    options,
  );
  expect(result).toMatchObject({
    EDITOR: "false",
    VISUAL: "false",
    GIT_EDITOR: "false",
    GIT_SEQUENCE_EDITOR: "false",
    GIT_TERMINAL_PROMPT: "0",
    PAGER: "cat",
    GIT_PAGER: "cat",
    TERM: "dumb",
  });
  expect(result).not.toHaveProperty("SSH_TTY");
});

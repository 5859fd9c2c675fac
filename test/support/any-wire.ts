import type { Api } from "../../src/contract/messages.ts";
import { apiWires } from "./api-wires.ts";
import type { ScriptedAnswer } from "./chat-wire.ts";
import type { LoggedRequest, Script, ScriptedReply } from "./provider-server.ts";
import { baseUrl } from "./workspace.ts";

/** Answers a request in the words of the API that it was made in. */
export function anyReply({ url }: LoggedRequest, answer: ScriptedAnswer): ScriptedReply {
  const api: Api = url.endsWith("/messages")
    ? "anthropic-messages"
    : url.endsWith("/responses")
      ? "openai-responses"
      : "openai-completions";
  return wireOf(api).reply(answer);
}

/** Scripts the same answers whatever API asks. */
export function anyScript(answers: readonly ScriptedAnswer[]): Script[] {
  return answers.map((answer) => (request: LoggedRequest) => anyReply(request, answer));
}

/** The providers `completions`, `anthropic`, `responses` and `codex` of a `models.json`, each with the model `m`. */
export function everyApi(url: string, model: Record<string, unknown> = {}): Record<string, object> {
  return Object.fromEntries(
    apiWires.map(({ api }) => [
      providerOf[api],
      { baseUrl: baseUrl(url, api), api, apiKey: "test-key-12345678", models: [{ id: "m", ...model }] },
    ]),
  );
}

export const providerOf: Readonly<Record<Api, string>> = {
  "openai-completions": "completions",
  "anthropic-messages": "claude",
  "openai-responses": "responses",
  "openai-codex-responses": "codex",
};

function wireOf(api: Api) {
  const wire = apiWires.find((candidate) => candidate.api === api);
  if (wire === undefined) throw new Error(`no wire for ${api}`);
  return wire;
}

import { isJsonObject, type JsonObject, type JsonValue } from "../contract/json.ts";

/** A project's settings without what a project may not decide. */
export type TrustedPart = {
  readonly content: JsonObject;
  /** The keys that were left out, each as a path. */
  readonly ignored: readonly (readonly string[])[];
};

/** Known settings that only the user decides: they run commands, or say where things go. */
const usersOwn: readonly (readonly [string, string?])[] = [["shell"], ["sessionDir"], ["autonomous", "gate"]];

/**
 * Keys that no settings file has, but which say what a repository tries: providers, endpoints, credentials, commands.
 * They are passed over in a project's file instead of refused, so that such a repository can be worked on.
 */
const reaching =
  /^(providers?|models|api|headers|env|environment|extensions?|plugins?|packages?|hooks?|gates?|mcp\w*|(base|end).*|proxy)$|key|token|secret|credential|auth|url|command|script|exec|shell/i;

/** Takes out of a project's settings what comes from whoever wrote the repository and would act in the user's name. */
export function trustedPart(content: JsonObject, isKnown: (key: string) => boolean): TrustedPart {
  const ignored: (readonly string[])[] = [];
  const kept: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(content)) {
    if (isUsersOwn(key) || (!isKnown(key) && reaching.test(key))) {
      ignored.push([key]);
    } else if (isJsonObject(value)) {
      const inner = Object.entries(value);
      kept.push([key, Object.fromEntries(inner.filter(([name]) => !isUsersOwn(key, name)))]);
      for (const [name] of inner) if (isUsersOwn(key, name)) ignored.push([key, name]);
    } else {
      kept.push([key, value]);
    }
  }
  return { content: Object.fromEntries(kept), ignored };
}

function isUsersOwn(key: string, name?: string): boolean {
  return usersOwn.some(([ownKey, ownName]) => ownKey === key && ownName === name);
}

import { createHash } from "node:crypto";

/** Whose rules the ids of tool calls have to follow. */
export type IdRule = "openai" | "anthropic" | "responses" | "mistral";

type Rule = { readonly accepts: RegExp; readonly toId: (digest: Buffer) => string };

const longId = (digest: Buffer) => `call_${digest.toString("hex").slice(0, 24)}`;

const rules: Readonly<Record<IdRule, Rule>> = {
  // `functions.read:0` is how some models number their calls, and they want it back.
  openai: { accepts: /^[a-zA-Z0-9_.:-]{1,40}$/, toId: longId },
  responses: { accepts: /^[a-zA-Z0-9_-]{1,40}$/, toId: longId },
  anthropic: { accepts: /^[a-zA-Z0-9_-]{1,64}$/, toId: longId },
  mistral: {
    accepts: /^[a-zA-Z0-9]{9}$/,
    toId: (digest) =>
      BigInt(`0x${digest.toString("hex")}`)
        .toString(36)
        .slice(0, 9),
  },
};

/**
 * Makes the mapper of one request: ids of tool calls in the history to ids that the target accepts. The same id always
 * gives the same result, two ids never do, and an id that is fine stays as it is. Make a new one for every request.
 */
export function createIdMapper(rule: IdRule): (id: string) => string {
  const { accepts, toId } = rules[rule];
  const mapped = new Map<string, string>();
  const taken = new Set<string>();
  return (id) => {
    const known = mapped.get(id);
    if (known !== undefined) return known;
    // What follows a `|` is the id of the item that held the call, which only the endpoint that made it knows.
    const [callId = ""] = id.split("|", 1);
    let candidate = accepts.test(callId) ? callId : toId(hash(id));
    for (let attempt = 1; taken.has(candidate); attempt++) candidate = toId(hash(`${id}#${attempt}`));
    mapped.set(id, candidate);
    taken.add(candidate);
    return candidate;
  };
}

function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

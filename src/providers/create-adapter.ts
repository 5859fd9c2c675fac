import type { JsonObject } from "../contract/json.ts";
import type { ProviderEvent, ProviderRequest } from "../contract/provider.ts";
import type { AdapterDeps, CreateAdapter, Credentials } from "./adapter.ts";
import { toProviderError } from "./errors/http-error.ts";
import { post } from "./http/post.ts";
import { toRequestBody } from "./http/request-body.ts";
import { readServerEvents, type ServerEvents } from "./http/sse.ts";
import { passOn } from "./pass-on.ts";

/** How an API is spoken. */
export type ApiSpec = {
  /** Below the base URL. */
  readonly path: `/${string}`;
  /** The field of the body that holds the conversation. */
  readonly list: "messages" | "input";
  /** Beside those that every request has, their names in lower case. May throw a ProviderError. */
  toHeaders(credentials: Credentials, request: ProviderRequest): Readonly<Record<string, string>>;
  toParams(request: ProviderRequest): JsonObject;
  /** Brings the schema of an answer to the form that the API takes; undefined when it has to be left out. */
  toSchema?(schema: JsonObject): Promise<JsonObject | undefined>;
  /** Reads a reply. Throws a ProviderError when it fails or is not complete. */
  toDeltas(events: ServerEvents, facts: ReplyContext): Events;
};

/** What is known of a reply before it comes. */
export type ReplyContext = {
  /** Whom the errors name. */
  readonly provider: string;
  /** How long a reply may be silent, in milliseconds, before it counts as broken: nothing may be waited for longer. */
  readonly idleMs?: number | undefined;
  /** Whether a name is that of a tool that the model was offered. */
  readonly isTool?: (name: string) => boolean;
};

type Events = AsyncGenerator<ProviderEvent, void, undefined>;

/** Makes the adapter of an API: whatever asking and reading throws becomes a ProviderError, or the signal's reason. */
export function createAdapter(spec: ApiSpec): CreateAdapter {
  return (deps) => ({
    stream(request, signal) {
      const { tools, model } = request;
      const { provider } = model;
      // Where none was offered, any name is as good as another.
      const isTool = (called: string) => tools.length === 0 || tools.some(({ name }) => name === called);
      const start = async () => {
        signal.throwIfAborted();
        const { idleMs } = deps;
        return spec.toDeltas(readServerEvents(await ask(spec, deps, request, signal), provider), {
          provider,
          idleMs,
          isTool,
        });
      };
      const toError = (thrown: unknown) =>
        signal.aborted ? signal.reason : toProviderError(thrown, provider);
      return passOn(start, { toError });
    },
  });
}

async function ask(
  spec: ApiSpec,
  { credentials, fetch }: AdapterDeps,
  request: ProviderRequest,
  signal: AbortSignal,
): Promise<Response> {
  const { toSchema } = spec;
  const { outputSchema, model } = request;
  const asked =
    toSchema === undefined || outputSchema === undefined
      ? request
      : withSchema(request, await toSchema(outputSchema));
  const headers = spec.toHeaders(credentials, request);
  const body = toRequestBody(spec.toParams(asked), spec.list);
  return post(fetch, model, { path: spec.path, headers, body }, signal);
}

function withSchema(request: ProviderRequest, schema: JsonObject | undefined): ProviderRequest {
  const { outputSchema: _, ...rest } = request;
  return schema === undefined ? rest : { ...rest, outputSchema: schema };
}

import type { Provider } from "../contract/provider.ts";

/** The bytes of a body, in parts that never change. */
export type RequestBody = readonly Uint8Array[];

/** As for the global fetch, but for a body that may come in parts. */
export type ProviderInit = Omit<RequestInit, "body"> & {
  readonly body?: RequestInit["body"] | RequestBody;
};

/** What requests go through instead of the global fetch. */
export type ProviderFetch = (url: string | URL | Request, init?: ProviderInit) => Promise<Response>;

/** What proves to a provider who asks. */
export type Credentials = {
  /** Trimmed; absent for servers that want none. */
  readonly apiKey?: string;
  /** The account of a subscription (`openai-codex`). */
  readonly accountId?: string;
};

/** What an adapter is made from. The fetch throws a ProviderError on every status that is not 2xx. */
export type AdapterDeps = {
  readonly credentials: Credentials;
  readonly fetch: ProviderFetch;
  /** How long the events of a reply may be silent, in milliseconds, when that is watched. */
  readonly idleMs?: number;
};

/** Makes the adapter of one API. Its file is imported when it is used: a run needs one of them. */
export type CreateAdapter = (deps: AdapterDeps) => Provider;

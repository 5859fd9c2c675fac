import type { Api } from "./messages.ts";
import type { Compat, ThinkingLevel, Timeouts } from "./provider.ts";

/** How many waiting messages a turn takes from its queue. */
export const queueModes = ["all", "one-at-a-time"] as const;
export type QueueMode = (typeof queueModes)[number];

/** What `settings.json` holds, every default filled in. */
export type Settings = {
  readonly defaultProvider?: string;
  readonly defaultModel?: string;
  readonly defaultThinkingLevel?: ThinkingLevel;
  readonly retry: {
    readonly enabled: boolean;
    readonly maxRetries: number;
    readonly baseDelayMs: number;
    /** The longest wait that a provider may ask for. */
    readonly maxDelayMs: number;
  };
  readonly timeouts: Timeouts;
  /** Numbers in tokens. */
  readonly compaction: {
    readonly enabled: boolean;
    readonly reserveTokens: number;
    readonly keepRecentTokens: number;
  };
  readonly steeringMode: QueueMode;
  readonly followUpMode: QueueMode;
  readonly shell: {
    /** The shell that runs commands. */
    readonly path?: string;
    /** Put in front of every command. */
    readonly commandPrefix?: string;
    /** The most of one command's output that is kept in a file. */
    readonly maxSpillBytes?: number;
  };
  /** Absolute. */
  readonly sessionDir?: string;
  readonly autonomous: AutonomousSettings;
  readonly runs: {
    /** The most that a resident run keeps of its events. */
    readonly maxEventsBytes: number;
  };
  readonly images: {
    /** Whether an image that is too large for the provider is scaled down. */
    readonly autoResize: boolean;
    /** Whether images are kept from the provider altogether. */
    readonly block: boolean;
  };
};

/** The `--autonomous*` options, without that prefix. */
export type AutonomousSettings = {
  readonly enabled: boolean;
  /** Commands, run in this order. */
  readonly gate: readonly string[];
  readonly gateRetries?: number;
  readonly gateTimeoutMs?: number;
  readonly maxContinuations?: number;
  readonly maxTurns?: number;
  readonly maxTokens?: number;
  readonly timeoutMs?: number;
};

/** US dollars per million tokens, as `models.json` states them. */
export type CustomPrices = {
  readonly input: number;
  readonly output: number;
  /** The price of `input` when absent, as for `cacheWrite`. */
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
};

/** One model of `models.json`. What is absent comes from the catalog, else from the defaults. */
export type CustomModel = {
  readonly id: string;
  readonly name?: string;
  readonly reasoning?: boolean;
  readonly input?: readonly ("text" | "image")[];
  readonly contextWindow?: number;
  readonly maxTokens?: number;
  readonly cost?: CustomPrices;
  readonly compat?: Compat;
};

/** One provider of `models.json`: a new one, or what differs from the built-in one of that name. */
export type CustomProvider = {
  readonly baseUrl?: string;
  readonly api?: Api;
  /** `$ENV_NAME`, `!command` or the key itself. */
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly compat?: Compat;
  readonly models?: readonly CustomModel[];
};

/** A provider of `models.json` that cannot be used. */
export type BrokenProvider = {
  /** File, line, key and what is wrong with it. */
  readonly problem: string;
  /** The models that it would have had, as far as they can be told. */
  readonly modelIds: readonly string[];
};

/** What `models.json` holds. A provider is in one of the two. */
export type ModelsFile = {
  readonly providers: ReadonlyMap<string, CustomProvider>;
  readonly broken: ReadonlyMap<string, BrokenProvider>;
};

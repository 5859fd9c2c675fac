/**
 * Why a provider did not answer.
 *
 * - `auth`: the credentials were refused (401, 403)
 * - `quota`: money, plan or a daily limit is used up; waiting seconds does not help
 * - `rate_limit`: too many requests or tokens for now
 * - `overflow`: the request is larger than the model's context
 * - `overloaded`: the provider fails or is too busy (5xx)
 * - `invalid_request`: the provider does not take this request (400, 404, 422 ...)
 * - `network`: no connection, or it broke
 * - `timeout`: one of our own time limits
 * - `protocol`: the reply is not what the protocol promises (no end, no JSON, an unknown reason)
 * - `refusal`: the model or a content filter declined
 */
export type ProviderErrorKind =
  | "auth"
  | "quota"
  | "rate_limit"
  | "overflow"
  | "overloaded"
  | "invalid_request"
  | "network"
  | "timeout"
  | "protocol"
  | "refusal";

const transientKinds: ReadonlySet<ProviderErrorKind> = new Set([
  "rate_limit",
  "overloaded",
  "network",
  "timeout",
  "protocol",
]);

export type ProviderErrorOptions = {
  /** HTTP status. */
  status?: number;
  /** The provider's own error code or type. */
  code?: string;
  /** The provider's own word for why it stopped, when that is what failed. */
  stopReasonRaw?: string;
  /** How long the provider asks to wait, in milliseconds. */
  retryAfterMs?: number;
  /** Whether another try may help; by default decided by the kind. */
  transient?: boolean;
  cause?: unknown;
};

/** The one error that a provider throws. Its message is complete: a person can act on it. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly kind: ProviderErrorKind;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly stopReasonRaw: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly transient: boolean;

  constructor(kind: ProviderErrorKind, message: string, options: ProviderErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.status = options.status;
    this.code = options.code;
    this.stopReasonRaw = options.stopReasonRaw;
    this.retryAfterMs = options.retryAfterMs;
    this.transient = options.transient ?? transientKinds.has(kind);
  }
}

/** A start that is refused: the run ends with status 2 and this one line on stderr. */
export class StartupError extends Error {
  override readonly name = "StartupError";
}

/** The session could not be written any more (disk full, file gone): the run ends with status 1. */
export class PersistenceError extends Error {
  override readonly name = "PersistenceError";
}

/** The words of whatever was thrown. */
export function errorMessage(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}

import { errorMessage, ProviderError, type ProviderErrorKind } from "../../contract/errors.ts";
import type { JsonValue } from "../../contract/json.ts";
import { toNetworkError } from "../http/network-error.ts";
import { type ErrorFacts, oneLine, readErrorJson, readErrorText } from "./error-body.ts";
import { errorKind, isFinalStatus } from "./error-kind.ts";
import { readRetryAfterMs } from "./retry-after.ts";

/** A reply with a status that is not 2xx, its body read (or as much of it as is worth reading). */
export type FailedReply = {
  readonly status: number;
  readonly statusText?: string;
  /** The value of a response header, null when there is none. */
  readonly header: (name: string) => string | null;
  readonly body: string;
  readonly provider: string;
};

/** The error for a reply that is not 2xx: kind, whether to retry, how long to wait, and what the provider said. */
export function toHttpError(reply: FailedReply): ProviderError {
  const nowMs = Date.now();
  const facts = readErrorText(reply.body, nowMs);
  // Servers that have no words for a status say so.
  const isNamed = reply.statusText && !/^(?:unknown|-)?$/i.test(reply.statusText);
  const statusText = isNamed ? ` ${oneLine(reply.statusText ?? "", 60)}` : "";
  const headerMs = readRetryAfterMs(reply.header, nowMs);
  const location = reply.status < 400 ? reply.header("location") : null;
  return toError(facts, {
    status: reply.status,
    said: `${reply.provider} answered ${reply.status}${facts.code === undefined ? statusText : ""}`,
    provider: reply.provider,
    ...(location !== null && { location }),
    ...(headerMs !== undefined && { headerMs }),
    nowMs,
  });
}

/**
 * The error for an error object inside a 200 reply: an `error` event, a chunk with an `error` field, the `error` of a
 * failed response. Takes the object itself or whatever wraps it, and the server's word for why the reply stopped,
 * empty when it gave none.
 */
export function toStreamError(error: JsonValue, provider: string, stopReasonRaw = ""): ProviderError {
  const nowMs = Date.now();
  const facts = readErrorJson(error, nowMs);
  const said = `${provider} reported an error`;
  return toError(facts, {
    provider,
    said,
    nowMs,
    ...(facts.status !== undefined && { status: facts.status }),
    ...(stopReasonRaw !== "" && { stopReasonRaw }),
  });
}

/**
 * The ProviderError for whatever a request threw: itself, one that it wraps, a broken connection; anything else is a
 * fault of the protocol.
 */
export function toProviderError(thrown: unknown, provider: string): ProviderError {
  const wrapped = findProviderError(thrown);
  if (wrapped !== undefined) return wrapped;
  const network = toNetworkError(thrown, provider);
  if (network !== undefined) return network;
  const words = oneLine(errorMessage(thrown), 2_000);
  return new ProviderError("protocol", `the reply of ${provider} cannot be read: ${words}`, {
    cause: thrown,
  });
}

type Circumstances = {
  readonly status?: number;
  /** How the sentence starts. */
  readonly said: string;
  readonly provider: string;
  /** Where the reply redirects to. */
  readonly location?: string;
  /** What the headers ask to wait, in milliseconds. */
  readonly headerMs?: number;
  readonly stopReasonRaw?: string;
  readonly nowMs: number;
};

function toError(facts: ErrorFacts, circumstances: Circumstances): ProviderError {
  const { status, headerMs, stopReasonRaw, nowMs } = circumstances;
  const kind = errorKind(status, facts);
  const waitMs = kind === "quota" ? (facts.resetMs ?? headerMs) : (headerMs ?? facts.resetMs);
  // A short wait that comes with an exhausted quota is the server's habit, not the truth.
  const shownMs = kind === "quota" && waitMs !== undefined && waitMs < 60_000 ? undefined : waitMs;
  const hints = [advice(kind, circumstances.provider), wait(shownMs, nowMs)].filter((hint) => hint !== "");
  const hint = hints.length > 0 ? ` (${hints.join("; ")})` : "";
  return new ProviderError(kind, sentence(facts, circumstances) + hint, {
    ...(status !== undefined && { status }),
    ...(facts.code !== undefined && { code: facts.code }),
    ...(stopReasonRaw !== undefined && { stopReasonRaw }),
    ...(shownMs !== undefined && { retryAfterMs: shownMs }),
    ...(status !== undefined && isFinalStatus(status) && { transient: false }),
  });
}

function sentence(facts: ErrorFacts, { said, location }: Circumstances): string {
  if (location !== undefined) return `${said}: a redirect to ${oneLine(location, 200)}; check the base URL`;
  const code = facts.code === undefined || said.endsWith(` ${facts.code}`) ? "" : ` (${facts.code})`;
  const reason = facts.message ?? "the provider gave no reason";
  const param =
    facts.param === undefined || reason.includes(facts.param) ? "" : ` (parameter: ${facts.param})`;
  return `${said}${code}: ${reason}${param}`;
}

function advice(kind: ProviderErrorKind, provider: string): string {
  return kind === "auth" ? `check the credentials of ${provider}` : "";
}

/** When the provider will answer again, in words. */
function wait(waitMs: number | undefined, nowMs: number): string {
  if (waitMs === undefined || waitMs < 1000) return "";
  if (waitMs < 60_000) return `try again in ${Math.ceil(waitMs / 1000)} s`;
  const words = `try again in ${longDuration(waitMs)}`;
  const at = new Date(nowMs + waitMs);
  // Of an endless wait there is no such moment.
  return Number.isNaN(at.getTime()) ? words : `${words}, at ${at.toISOString().slice(0, 16)}Z`;
}

function longDuration(durationMs: number): string {
  const minutes = Math.ceil(durationMs / 60_000);
  const parts = [
    [Math.floor(minutes / 1440), "d"],
    [Math.floor((minutes % 1440) / 60), "h"],
    [minutes % 60, "min"],
  ] as const;
  return parts
    .filter(([amount]) => amount > 0)
    .slice(0, 2)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ");
}

function findProviderError(thrown: unknown): ProviderError | undefined {
  let error = thrown;
  for (let depth = 0; error instanceof Error && depth < 5; depth++) {
    if (error instanceof ProviderError) return error;
    error = error.cause;
  }
  return undefined;
}

import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";

/** How long one level of an error body asks to wait, or says until its limit resets, in milliseconds. */
export function statedWaitMs(level: JsonObject, nowMs: number): number | undefined {
  if (typeof level.resets_in_seconds === "number") return Math.max(0, level.resets_in_seconds * 1000);
  if (typeof level.resets_at === "number") return untilMs(level.resets_at, nowMs);
  const headers = isJsonObject(level.metadata) ? level.metadata.headers : undefined;
  const reset = isJsonObject(headers) ? Number(headers["X-RateLimit-Reset"] ?? Number.NaN) : Number.NaN;
  if (Number.isFinite(reset)) return untilMs(reset, nowMs);
  return retryAfterMs(level) ?? retryAfterMs(level.metadata) ?? googleRetryDelayMs(level);
}

/** The fields in which gateways repeat their `retry-after` header, and their unit. */
const retryAfterFields: readonly (readonly [string, number])[] = [
  ["retry_after_ms", 1],
  ["retryAfterMs", 1],
  ["retry_after", 1000],
  ["retry_after_seconds", 1000],
  ["retryAfter", 1000],
];

function retryAfterMs(level: JsonValue | undefined): number | undefined {
  if (!isJsonObject(level)) return undefined;
  for (const [field, unitMs] of retryAfterFields) {
    const value = level[field];
    const isStated =
      typeof value === "number" || (typeof value === "string" && /^\d+(?:\.\d+)?$/.test(value));
    if (isStated && Number(value) >= 0) return Math.ceil(Number(value) * unitMs);
  }
  return undefined;
}

function googleRetryDelayMs(level: JsonObject): number | undefined {
  if (!Array.isArray(level.details)) return undefined;
  for (const detail of level.details) {
    const delay: JsonValue | undefined = isJsonObject(detail) ? detail.retryDelay : undefined;
    const seconds = typeof delay === "string" ? /^([\d.]+)s$/.exec(delay)?.[1] : undefined;
    if (seconds !== undefined) return Number(seconds) * 1000;
  }
  return undefined;
}

/** From now to an epoch time in seconds or milliseconds. */
function untilMs(epoch: number, nowMs: number): number {
  return Math.max(0, (epoch < 1e11 ? epoch * 1000 : epoch) - nowMs);
}

/**
 * How long the reply's headers ask to wait, in milliseconds: `retry-after-ms`, `retry-after` in seconds or as an HTTP
 * date (the longest of them), else the reset time of a rate limit that the headers state as used up.
 */
export function readRetryAfterMs(header: (name: string) => string | null, nowMs: number): number | undefined {
  const stated = [numberMs(header("retry-after-ms"), 1), retryAfterMs(header("retry-after"), nowMs)];
  const known = stated.filter((value) => value !== undefined);
  return known.length > 0
    ? Math.max(...known)
    : (usedUpLimitMs(header) ?? usedUpClaudeLimitMs(header, nowMs));
}

function retryAfterMs(value: string | null, nowMs: number): number | undefined {
  const seconds = numberMs(value, 1000);
  if (seconds !== undefined || value === null) return seconds;
  // `Date.parse` makes a date of whatever has a number in it.
  if (!/^\s*(?:[A-Za-z]+,? .*\d:\d|\d{4}-\d\d-\d\dT)/.test(value)) return undefined;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function numberMs(value: string | null, unitMs: number): number | undefined {
  if (value === null || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined;
  return Math.ceil(Number(value) * unitMs);
}

/** OpenAI-style headers come on every reply: a reset time counts only for a limit with nothing left. */
function usedUpLimitMs(header: (name: string) => string | null): number | undefined {
  const resets = ["requests", "tokens"]
    .filter((limit) => Number(header(`x-ratelimit-remaining-${limit}`) ?? Number.NaN) === 0)
    .map((limit) => durationMs(header(`x-ratelimit-reset-${limit}`)))
    .filter((value) => value !== undefined);
  return resets.length > 0 ? Math.max(...resets) : undefined;
}

/** Anthropic tells the moment at which a limit is whole again; those of a subscription are told of as one. */
function usedUpClaudeLimitMs(header: (name: string) => string | null, nowMs: number): number | undefined {
  const isUsedUp = (limit: string) =>
    limit === "unified"
      ? header("anthropic-ratelimit-unified-status") === "rejected"
      : Number(header(`anthropic-ratelimit-${limit}-remaining`) ?? Number.NaN) === 0;
  const resets = ["requests", "tokens", "input-tokens", "output-tokens", "unified"]
    .filter(isUsedUp)
    .map((limit) => header(`anthropic-ratelimit-${limit}-reset`) ?? "")
    .map((reset) => (/^\d+$/.test(reset) ? Number(reset) * 1000 : Date.parse(reset)))
    .filter((atMs) => !Number.isNaN(atMs));
  return resets.length > 0 ? Math.max(0, Math.max(...resets) - nowMs) : undefined;
}

const unitsMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** `1d2h`, `6m0s`, `8.64s`, `20ms`. */
function durationMs(value: string | null): number | undefined {
  if (value === null || !/^(?:\d+(?:\.\d+)?(?:ms|[dhms]))+$/.test(value)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of value.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)) {
    totalMs += Number(amount) * (unitsMs[unit ?? ""] ?? 0);
  }
  return Math.ceil(totalMs);
}

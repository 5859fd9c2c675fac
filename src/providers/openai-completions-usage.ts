import { isJsonObject, type JsonValue } from "../contract/json.ts";
import type { TokenCounts } from "../contract/provider.ts";

/**
 * Reads a usage object of any OpenAI-compatible server. Undefined when it counts nothing. The prompt's tokens include
 * the cached ones on the wire; here they are taken apart.
 */
export function toTokenCounts(usage: JsonValue | undefined): TokenCounts | undefined {
  if (!isJsonObject(usage)) return undefined;
  const prompt = firstCount(usage.prompt_tokens, usage.input_tokens);
  const output = firstCount(usage.completion_tokens, usage.output_tokens);
  if (prompt + output === 0) return undefined;
  const details = [usage.prompt_tokens_details, usage.input_tokens_details].find(isJsonObject) ?? {};
  const cacheRead = firstCount(
    details.cached_tokens,
    usage.prompt_cache_hit_tokens,
    usage.cached_tokens,
    usage.cache_read_input_tokens,
  );
  const cacheWrite = firstCount(
    details.cache_write_tokens,
    details.cache_creation_tokens,
    usage.cache_creation_input_tokens,
  );
  const fresh = prompt - cacheRead - cacheWrite;
  // More cached than there was prompt: this server counts them apart.
  return { input: fresh < 0 ? prompt : fresh, output, cacheRead, cacheWrite };
}

/** The first value that is a count, else 0. */
function firstCount(...values: readonly (JsonValue | undefined)[]): number {
  for (const value of values) if (typeof value === "number" && value > 0) return value;
  return 0;
}

import { isJsonObject, type JsonObject } from "../../contract/json.ts";

/** The numbers by which some vendors tell an error in a 200 reply, as the words that others use as codes. */
const words: Readonly<Record<"error_code" | "status_code" | "code", readonly (readonly [string, RegExp])[]>> =
  {
    // Baidu's ERNIE.
    error_code: [
      ["rate_limit", /^(?:4|18|33650[1-3])$/],
      ["quota_exceeded", /^(?:17|19)$/],
      ["invalid_api_key", /^(?:6|1[34]|100|11[01])$/],
      ["context_length_exceeded", /^336103$/],
      ["invalid_request", /^(?:3|33600[1-6])$/],
    ],
    // MiniMax.
    status_code: [
      ["rate_limit", /^(?:1002|1039|1041)$/],
      ["quota_exceeded", /^(?:1008|2056)$/],
      ["invalid_api_key", /^(?:1004|2049)$/],
      ["content_filter", /^102[67]$/],
      ["invalid_request", /^(?:1042|2013)$/],
    ],
    // Zhipu.
    code: [["insufficient_balance", /^1113$/]],
  };

/** Whether an object tells an error by a vendor's number, whatever else it holds. */
export function hasVendorError({ error_code, error_msg, base_resp }: JsonObject): boolean {
  if (isJsonObject(base_resp)) return isError(base_resp.status_code);
  return typeof error_msg === "string" && isError(error_code);
}

/** The number that a vendor tells an error by. */
export function vendorCode({ error_code, status_code, status_msg }: JsonObject): string | undefined {
  if (isError(error_code)) return String(error_code);
  return typeof status_msg === "string" && isError(status_code) ? String(status_code) : undefined;
}

/** What a vendor's number means, or what its other fields say of the kind; empty when they say nothing. */
export function vendorCodeWord(level: JsonObject): string {
  // OpenRouter's moderation.
  const { metadata } = level;
  if (
    isJsonObject(metadata) &&
    (Array.isArray(metadata.reasons) || typeof metadata.flagged_input === "string")
  )
    return "content_filter";
  for (const field of ["error_code", "status_code", "code"] as const) {
    const word = words[field].find(([, pattern]) => pattern.test(String(level[field])))?.[0];
    if (word !== undefined) return word;
  }
  return "";
}

function isError(code: unknown): boolean {
  return (typeof code === "number" && code !== 0) || (typeof code === "string" && !/^0*$/.test(code));
}

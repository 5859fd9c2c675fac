/** The version of the API that is spoken here. */
const apiVersion = "2023-06-01";

/**
 * The headers that an Anthropic endpoint wants. Anthropic itself documents `x-api-key` for keys and a bearer for the
 * tokens of a login. Of other servers some read the one and some the other, so that they get both.
 */
export function toAnthropicHeaders(baseUrl: string, apiKey: string | undefined): Record<string, string> {
  const version = { "anthropic-version": apiVersion };
  if (apiKey === undefined) return version;
  const bearer = { authorization: `Bearer ${apiKey}` };
  const key = { "x-api-key": apiKey };
  if (apiKey.startsWith("sk-ant-oat")) return { ...version, ...bearer };
  return isAnthropic(baseUrl) ? { ...version, ...key } : { ...version, ...key, ...bearer };
}

function isAnthropic(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && /(?:^|\.)anthropic\.com$/.test(new URL(baseUrl).hostname);
}

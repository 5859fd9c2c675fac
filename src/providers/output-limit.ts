import type { ProviderRequest } from "../contract/provider.ts";

/** The least that is asked for, however little the window has left. */
const minTokens = 1024;

/**
 * How many tokens a reply may have: what the request asks for or the model can, within what its window has left. Servers
 * refuse a request whose own tokens and bound together are more than the window.
 */
export function outputLimit({ model, maxTokens, contextTokens = 0 }: ProviderRequest): number {
  const left = Math.max(minTokens, model.contextWindow - contextTokens);
  return Math.min(maxTokens ?? model.maxTokens, left);
}

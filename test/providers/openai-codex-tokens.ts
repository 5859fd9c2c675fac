/** A token as the subscription's login gives them, not signed by anybody. */
export function toToken({ account, expires }: { account?: string; expires?: Date }): string {
  const claims = {
    ...(expires !== undefined && { exp: Math.floor(expires.getTime() / 1000) }),
    "https://api.openai.com/auth": { ...(account !== undefined && { chatgpt_account_id: account }) },
  };
  return `head.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.signature`;
}

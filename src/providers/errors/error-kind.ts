import type { ProviderErrorKind } from "../../contract/errors.ts";
import type { ErrorFacts } from "./error-body.ts";

/**
 * Decides what kind of failure a provider reports: by its codes and types, then by status, and by its wording only for
 * what no code tells.
 *
 * @param status HTTP status, when there is one: the reply's own, or what an error inside a 200 states.
 */
export function errorKind(status: number | undefined, facts: ErrorFacts): ProviderErrorKind {
  const words = facts.message ?? "";
  const byCode = kindOfCodes(facts.codes);
  if (byCode === "refusal" || byCode === "overflow" || byCode === "quota") return byCode;
  if (status === 402) return "quota";
  if (facts.codes.some((code) => /per_?minute/.test(code))) return "rate_limit";
  if (byCode === "rate_limit" || status === 429) return quotaWords.test(words) ? "quota" : "rate_limit";
  if (byCode === "auth" || status === 401 || status === 403) {
    if (quotaWords.test(words)) return "quota";
    return status === 403 && moderationWords.test(words) ? "refusal" : "auth";
  }
  if (status !== 404 && overflowWords.test(words)) return "overflow";
  if (status === undefined || status < 300) return byCode ?? "overloaded";
  if (status < 400) return "protocol";
  if (status >= 500 || waitStatuses.has(status)) return "overloaded";
  return quotaWords.test(words) ? "quota" : "invalid_request";
}

/** Statuses that another try of the same request cannot help, whatever the body says. */
export function isFinalStatus(status: number): boolean {
  return (status >= 300 && status < 400) || finalStatuses.has(status);
}

const finalStatuses: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 405, 410, 413, 415, 422]);

/** Request timeout, conflict, too early, Groq's lack of capacity: the server asks for another try. */
const waitStatuses: ReadonlySet<number> = new Set([408, 409, 425, 498]);

const codeKinds: readonly (readonly [ProviderErrorKind, RegExp])[] = [
  [
    "refusal",
    /^(?:content_filter|responsibleaipolicyviolation|safety_block|moderation|data_?inspection_?failed)|content_policy_violation|^(?:cyber|bio)_policy/,
  ],
  [
    "overflow",
    /context_(?:length|window)_exceeded|exceed_context_size|^request_too_large$|^tokens_limit_reached$|^context_too_large$/,
  ],
  [
    "quota",
    /insufficient_(?:quota|balance|credits|funds)|freetieronly|usage_limit|usage_not_included|billing|payment_required|quota_exceeded|exceeded_current_quota|^arrearage$|credit|per_?day|daily/,
  ],
  [
    "rate_limit",
    /rate_?limit|too_?many_?requests|^tokens$|^requests$|^resource_exhausted$|^throttl|^slow_down$|^429$/,
  ],
  [
    "auth",
    /authenticat|^permission|^unauthori[sz]ed$|^forbidden$|invalid_?api_?key|^api_key_invalid$|^token_(?:invalidated|expired|revoked)$/,
  ],
  ["overloaded", /overloaded|server_?error|^api_error$|^internal|unavailable|timeout|^5\d\d$/],
  [
    "invalid_request",
    /invalid_request|bad_?request|not_?found|invalid_argument|unsupported|unprocessable|validation|^invalid|^(?:empty_)?image_|^tool_use_failed$/,
  ],
];

/** A daily, monthly or paid limit, in the words of those who send no code for it. */
const quotaWords = anyOf([
  /exceeded your current quota/,
  /insufficient (?:balance|credits?|funds|quota)/,
  /credit balance is too low|out of credits|used all available credits/,
  /per[- ]day\b|\((?:TPD|RPD)\)/,
  /\b(?:daily|weekly|monthly) (?:[a-z]+ )*(?:limit|quota)/,
  /usage limit (?:has been )?reached|spend(?:ing)? limit|billing (?:hard )?limit/,
]);

/** What is forbidden because of what was asked for, not because of who asks. */
const moderationWords = anyOf([
  /requires moderation|input was flagged|content moderation/,
  /violat(?:es?|ing|ion of) (?:our |the )?(?:usage|content|safety|acceptable)/,
]);

/** How servers say that a request is larger than the model's context. */
const overflowWords = anyOf([
  /max(?:imum)? context length|maximum prompt length/,
  /exceeds? (?:the )?(?:model(?:'?s)? )?(?:max(?:imum)? |available )?context/,
  /exceeds? context (?:limit|window|length)|context (?:window|size|length|limit) (?:limit )?(?:is |has been )?exceed/,
  /context window exceeds|exceeded model token limit|prompt exceeds max length/,
  /prompt (?:tokens )?(?:is |are )?too long|reduce the length of the messages|input is too long|prompt token count .{0,40}exceeds/,
  /too many tokens: |max message tokens|max input (?:length|characters)/,
  /input length .{0,80}exceed|input token count .{0,80}exceeds|range of input length should be/,
  /(?:larger|longer|greater) than the (?:model'?s )?(?:maximum )?(?:context|model length)/,
  /too (?:large|long) for (?:the |this )?(?:model'?s )?context/,
  /tokens when context the overflows|tokens \+ `?max_new_tokens`? must be/,
]);

function anyOf(patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map((pattern) => pattern.source).join("|"), "i");
}

/** The most telling kind that the codes name: the table's order is the order of trust. */
function kindOfCodes(codes: readonly string[]): ProviderErrorKind | undefined {
  return codeKinds.find(([, pattern]) => codes.some((code) => pattern.test(code)))?.[0];
}

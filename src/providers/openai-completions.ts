import { createAdapter } from "./create-adapter.ts";
import { toDeltas } from "./openai-completions-deltas.ts";
import { toParams } from "./openai-completions-params.ts";
import { bearer } from "./post.ts";

/** Speaks the Chat Completions API of OpenAI and of the many servers that copy it. */
export const createOpenAICompletions = createAdapter({
  path: "/chat/completions",
  list: "messages",
  toHeaders: bearer,
  toParams,
  toDeltas,
});

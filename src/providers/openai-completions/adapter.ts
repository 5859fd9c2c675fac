import { createAdapter } from "../create-adapter.ts";
import { bearer } from "../http/post.ts";
import { toDeltas } from "./deltas.ts";
import { toParams } from "./params.ts";

/** Speaks the Chat Completions API of OpenAI and of the many servers that copy it. */
export const createOpenAICompletions = createAdapter({
  path: "/chat/completions",
  list: "messages",
  toHeaders: bearer,
  toParams,
  toDeltas,
});

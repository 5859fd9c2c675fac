import { createAdapter } from "./create-adapter.ts";
import { toDeltas } from "./openai-responses-deltas.ts";
import { toParams } from "./openai-responses-params.ts";
import { bearer } from "./post.ts";

/** Speaks the Responses API of OpenAI and of those who copy it. */
export const createOpenAIResponses = createAdapter({
  path: "/responses",
  list: "input",
  toHeaders: bearer,
  toParams,
  toDeltas,
});

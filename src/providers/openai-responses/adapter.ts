import { createAdapter } from "../create-adapter.ts";
import { bearer } from "../http/post.ts";
import { toDeltas } from "./deltas.ts";
import { toParams } from "./params.ts";

/** Speaks the Responses API of OpenAI and of those who copy it. */
export const createOpenAIResponses = createAdapter({
  path: "/responses",
  list: "input",
  toHeaders: bearer,
  toParams,
  toDeltas,
});

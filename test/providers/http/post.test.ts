import Anthropic from "@anthropic-ai/sdk";
import { assert, asyncProperty, constantFrom, webUrl } from "fast-check";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { toUrl } from "../../../src/providers/http/post.ts";

const own = { apiKey: "none", maxRetries: 0 };

test("a request goes where the official SDK of its API sends it", async () => {
  await assert(
    asyncProperty(webUrl(), constantFrom("", "/"), async (url, slash) => {
      const baseURL = url.replace(/\/+$/, "") + slash;
      const sent: string[] = [];
      const fetch = async (target: string | URL | Request): Promise<Response> => {
        sent.push(String(target));
        return Response.json({});
      };
      await new OpenAI({ ...own, baseURL, fetch }).chat.completions.create({ model: "m", messages: [] });
      await new OpenAI({ ...own, baseURL, fetch }).responses.create({ model: "m", input: "" });
      await new Anthropic({ ...own, baseURL, fetch }).messages.create({
        ...{ model: "m", messages: [], max_tokens: 1 },
      });
      const paths = ["/chat/completions", "/responses", "/v1/messages"];
      expect(sent).toEqual(paths.map((path) => new URL(toUrl(baseURL, path)).href));
    }),
  );
});

test.each([
  ["https://a.test/openai/?api-version=1", "https://a.test/openai/chat/completions?api-version=1"],
  ["https://a.test/v1//?k=v", "https://a.test/v1/chat/completions?k=v"],
  ["https://a.test/v1#models", "https://a.test/v1/chat/completions"],
  ["https://a.test/v1?k=v#models", "https://a.test/v1/chat/completions?k=v"],
])("the path goes into %s where it belongs", (baseUrl, expected) => {
  expect(toUrl(baseUrl, "/chat/completions")).toBe(expected);
});

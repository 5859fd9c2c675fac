import { expect, test } from "vitest";
import { toPrompt } from "../../../src/runs/acp/prompt.ts";

const link = (path: string) => ({ type: "resource_link" as const, name: "x", uri: `file://${path}` });
const text = (said: string) => ({ type: "text" as const, text: said });

test.each([
  ["between words with spaces", [text("Read "), link("/a"), text(" now")], "Read /a now"],
  ["between words without", [text("Read"), link("/a"), text("now")], "Read /a now"],
  ["beside each other", [link("/a"), link("/b%20c"), link("/d")], "/a /b c /d"],
  ["in brackets and quotes", [text('("'), link("/a"), text('")')], '("/a")'],
  ["in front of a full stop", [text("Read "), link("/a"), text(".")], "Read /a."],
])("links %s stay apart from what is around them", (_, blocks, said) => {
  expect(toPrompt(blocks)).toEqual({ ok: true, text: said, images: [] });
});

test.each([
  ["is not base64", "no base64!", "image/png"],
  ["is empty", "", "image/png"],
  ["is of another type", "QUJD", "text/plain"],
])("an image that %s is refused, and no part of the conversation", (_, data, mimeType) => {
  expect(toPrompt([text("Look"), { type: "image", data, mimeType }])).toEqual({
    ok: false,
    problem: expect.stringContaining("image"),
  });
});

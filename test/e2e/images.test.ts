import sharp from "sharp";
import { describe, expect, test } from "vitest";
import type { Api } from "../../src/contract/messages.ts";
import { anyScript } from "../support/any-wire.ts";
import { apiWires } from "../support/api-wires.ts";
import type { RequestJson } from "../support/provider-server.ts";
import { createBench } from "../support/with-provider.ts";

const apis = apiWires.map(({ api }) => api);
const seeing = { input: ["text", "image"] };
const readsPicture = { id: "call_a", name: "read", args: { path: "shot.bin" } };

function picture(width: number, height: number, format: "png" | "jpeg" | "webp" | "gif" = "png") {
  const image = { create: { width, height, channels: 3 as const, background: "teal" } };
  return sharp(image).toFormat(format).toBuffer();
}

/** The images of a request, in order, wherever its API keeps them: what holds them, type and bytes. */
function imagesOf(body: RequestJson): { mimeType: string; bytes: Buffer }[] {
  const found: { mimeType: string; bytes: Buffer }[] = [];
  JSON.stringify(body, (_, value) => {
    const url = value?.image_url?.url ?? value?.image_url;
    const [, type, data] = typeof url === "string" ? (/^data:([^;]+);base64,(.*)$/.exec(url) ?? []) : [];
    const source = value?.type === "image" ? value.source : undefined;
    const mimeType = type ?? source?.media_type;
    if (mimeType !== undefined) found.push({ mimeType, bytes: Buffer.from(data ?? source.data, "base64") });
    return value;
  });
  return found;
}

describe.each(apis)("%s", (api) => {
  test.each(["png", "jpeg", "webp", "gif"] as const)(
    "gets a %s whatever its file is called",
    async (format) => {
      const bytes = await picture(30, 20, format);
      const { run, server, workspace } = await createBench(
        anyScript([{ calls: [readsPicture] }, { text: "done" }]),
        { api, model: seeing },
      );
      workspace.file("shot.bin", bytes);
      expect(await run(["@shot.bin", "What is it?"])).toMatchObject({ status: 0, stderr: "" });
      const image = { mimeType: `image/${format}`, bytes };
      expect(imagesOf(server.json(0))).toEqual([image]);
      expect(imagesOf(server.json(1))).toEqual([image, image]);
    },
  );

  test("gets words where the model sees no images", async () => {
    const { run, server, workspace } = await createBench(
      anyScript([{ calls: [readsPicture] }, { text: "done" }]),
      { api, model: { input: ["text"] } },
    );
    workspace.file("shot.bin", await picture(30, 20));
    expect(await run(["@shot.bin", "What is it?"])).toMatchObject({ status: 0, stderr: "" });
    expect(imagesOf(server.json(1))).toEqual([]);
    expect(server.requests[1]?.body.match(/this model does not take images/g)).toHaveLength(2);
  });

  test("gets a large image made smaller, once and for all requests", async () => {
    const { run, server, workspace } = await createBench(
      anyScript([{ calls: [readsPicture] }, { text: "done" }]),
      { api, model: seeing },
    );
    workspace.file("shot.bin", await picture(4000, 1000));
    await run(["@shot.bin", "What is it?"]);
    const sizes = imagesOf(server.json(1)).map(({ bytes }) => sharp(bytes).metadata());
    expect((await Promise.all(sizes)).map(({ width, height }) => [width, height])).toEqual([
      [2000, 500],
      [2000, 500],
    ]);
  });
});

describe("the settings of images", () => {
  const runWith = async (images: object, width: number) => {
    const { run, server, workspace } = await createBench(anyScript([{ text: "done" }]), { model: seeing });
    workspace.homeFile("settings.json", { images });
    workspace.file("shot.bin", await picture(width, 10));
    await run(["@shot.bin", "What is it?"]);
    return server;
  };

  test("block keeps them from the provider", async () => {
    const server = await runWith({ block: true }, 30);
    expect(imagesOf(server.json(0))).toEqual([]);
    expect(server.requests[0]?.body).toContain("images.block is on");
  });

  test("autoResize: false leaves them as they are", async () => {
    const server = await runWith({ autoResize: false }, 3000);
    const [image] = imagesOf(server.json(0));
    expect((await sharp(image?.bytes).metadata()).width).toBe(3000);
  });
});

test("the images of tool results follow in a message of the user where results hold none", async () => {
  const wanted: Readonly<Record<Api, string[]>> = {
    "openai-completions": ["user"],
    "anthropic-messages": ["tool_result"],
    "openai-responses": ["function_call_output"],
    "openai-codex-responses": ["function_call_output"],
  };
  for (const api of apis) {
    const { run, server, workspace } = await createBench(
      anyScript([{ calls: [readsPicture] }, { text: "done" }]),
      { api, model: seeing },
    );
    workspace.file("shot.bin", await picture(30, 20));
    await run(["What is it?"]);
    const { messages, input } = server.json(1);
    const items = (messages ?? input).flatMap((message: RequestJson) =>
      message.content?.some?.(({ type }: RequestJson) => type === "tool_result")
        ? message.content
        : [message],
    );
    const holders = items.filter((item: RequestJson) => imagesOf(item).length > 0);
    expect(holders.map((item: RequestJson) => item.role ?? item.type)).toEqual(wanted[api]);
  }
});

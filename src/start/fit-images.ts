import type { Settings } from "../contract/config.ts";
import type { ImageContent, ModelMessage, UserContent } from "../contract/messages.ts";
import type { Provider, ProviderRequest } from "../contract/provider.ts";

type ImageSettings = Settings["images"];

/**
 * A provider that gets only images which it takes, wherever they come from (files, tools, clients, older sessions):
 * named by what their bytes are, and made smaller where they are too large. Where images are blocked, words stand for
 * them. An image that cannot be decoded here is left to the provider.
 */
export function withFittingImages(provider: Provider, settings: ImageSettings): Provider {
  const fitted = new WeakMap<ImageContent, Promise<UserContent>>();
  const fitOnce = (image: ImageContent) => {
    const known = fitted.get(image) ?? fitImage(image, settings);
    fitted.set(image, known);
    return known;
  };
  return {
    async *stream(request, signal) {
      yield* provider.stream(hasImages(request) ? await fitRequest(request, fitOnce) : request, signal);
    },
  };
}

function hasImages({ messages }: ProviderRequest): boolean {
  return messages.some(
    ({ content }) => typeof content !== "string" && content.some(({ type }) => type === "image"),
  );
}

type FitImage = (image: ImageContent) => Promise<UserContent>;

async function fitRequest(request: ProviderRequest, fitImage: FitImage): Promise<ProviderRequest> {
  const messages = request.messages.map(async (message): Promise<ModelMessage> => {
    if (message.role === "assistant" || typeof message.content === "string") return message;
    const content = message.content.map((block) => (block.type === "image" ? fitImage(block) : block));
    return { ...message, content: await Promise.all(content) };
  });
  return { ...request, messages: await Promise.all(messages) };
}

async function fitImage(image: ImageContent, settings: ImageSettings): Promise<UserContent> {
  if (settings.block)
    return { type: "text", text: `(an image, ${image.mimeType}, is left out: images.block is on)` };
  const [{ imageType }, { fits, loadImage, resizedLimits }] = await Promise.all([
    import("../tools/files/file-type.ts"),
    import("../tools/files/read-image.ts"),
  ]);
  const bytes = Buffer.from(image.data, "base64");
  const mimeType = imageType(bytes) ?? image.mimeType;
  const named = mimeType === image.mimeType ? image : { ...image, mimeType };
  const loaded = settings.autoResize ? await loadImage(bytes, mimeType) : undefined;
  if (loaded === undefined || fits(loaded, resizedLimits)) return named;
  const { resizeImage } = await import("../tools/files/resize-image.ts");
  const resized = await resizeImage(loaded, resizedLimits);
  if (resized === undefined) return named;
  return { type: "image", data: resized.bytes.toString("base64"), mimeType: resized.mimeType };
}

import type { ImageContent } from "../contract/messages.ts";

const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** An image as a URL that needs no network; undefined for what is not of the four types that every browser shows. */
export function dataUrl({ mimeType, data }: ImageContent): string | undefined {
  return imageTypes.has(mimeType) && base64.test(data) ? `data:${mimeType};base64,${data}` : undefined;
}

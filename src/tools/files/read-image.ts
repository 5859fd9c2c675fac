import type { ToolResult } from "../../contract/tool.ts";
import { errorResult, textResult } from "../define-tool.ts";
import type { ImageOptions } from "../read.ts";
import { isWholeGif } from "./gif.ts";
import type { FileToRead } from "./read-file.ts";
import { showSize } from "./text-file.ts";

/** An image as bytes, with what a provider looks at before it takes one. */
export type Image = {
  readonly bytes: Buffer;
  readonly mimeType: string;
  readonly width: number;
  readonly height: number;
};

/** What providers take. */
export type ImageLimits = {
  /** Pixels of the longer side. */
  readonly maxSide: number;
  /** Of the base64 text. */
  readonly maxBase64Bytes: number;
};

const maxBase64Bytes = 4.5 * 1024 * 1024;
/** Larger images are scaled down by the provider anyway, or refused when there are many. */
export const resizedLimits: ImageLimits = { maxSide: 2000, maxBase64Bytes };
const hardLimits: ImageLimits = { maxSide: 8000, maxBase64Bytes };
const maxFileBytes = 64 * 1024 * 1024;

/** Shows an image to the model, made smaller when it is too large for providers. */
export async function readImage(
  file: FileToRead,
  mimeType: string,
  options: ImageOptions,
): Promise<ToolResult> {
  const { shownAs, sizeBytes } = file;
  if (options.block) {
    return textResult(
      `[${shownAs} is an image (${mimeType}, ${showSize(sizeBytes)}). It is not shown: the setting images.block is on.]`,
    );
  }
  if (sizeBytes > maxFileBytes) {
    return errorResult(
      `${shownAs} is too large for an image: ${showSize(sizeBytes)}, at most ${showSize(maxFileBytes)}.`,
    );
  }
  const image = await loadImage(await file.handle.readFile(), mimeType);
  if (image === undefined)
    return errorResult(`${shownAs} is a damaged image (${mimeType}, ${showSize(sizeBytes)}).`);
  const limits = options.autoResize ? resizedLimits : hardLimits;
  if (fits(image, limits)) return showImage(image, `${shownAs} (${describeImage(image)})`);
  if (!options.autoResize)
    return errorResult(
      `${tooLarge(shownAs, image)} Turn the setting images.autoResize on, or make it smaller.`,
    );
  const { resizeImage } = await import("./resize-image.ts");
  const resized = await resizeImage(image, limits);
  if (resized !== undefined) {
    return showImage(resized, `${shownAs} (${describeImage(image)}), shown as ${describeImage(resized)}`);
  }
  if (fits(image, hardLimits)) return showImage(image, `${shownAs} (${describeImage(image)})`);
  return errorResult(`${tooLarge(shownAs, image)} It could not be made smaller here; use bash to do so.`);
}

/** Whether a provider takes an image as it is. */
export function fits(image: Image, limits: ImageLimits): boolean {
  const side = Math.max(image.width, image.height);
  return side <= limits.maxSide && base64Length(image.bytes) <= limits.maxBase64Bytes;
}

/** The image with its size in pixels; nothing when it is damaged, since a provider would refuse the whole request. */
export async function loadImage(bytes: Buffer, mimeType: string): Promise<Image | undefined> {
  const { imageSize } = await import("image-size");
  try {
    const { width, height } = imageSize(bytes);
    const whole = isWhole[mimeType]?.(bytes) ?? true;
    return whole && width > 0 && height > 0 ? { bytes, mimeType, width, height } : undefined;
  } catch {
    return undefined;
  }
}

/** Looks for what a format ends with. */
const isWhole: Readonly<Record<string, (bytes: Buffer) => boolean>> = {
  "image/png": (bytes) => bytes.includes("IEND"),
  "image/gif": isWholeGif,
  "image/jpeg": (bytes) => bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > 0,
  "image/webp": (bytes) => bytes.readUInt32LE(4) + 8 <= bytes.length + 1,
};

function showImage(image: Image, text: string): ToolResult {
  const { bytes, mimeType, width, height } = image;
  const content = textResult(`[${text}]`, { mimeType, width, height }).content;
  return {
    content: [...content, { type: "image", data: bytes.toString("base64"), mimeType }],
    details: { mimeType, width, height },
    isError: false,
  };
}

function describeImage({ mimeType, width, height, bytes }: Image): string {
  return `${mimeType}, ${width}x${height}, ${showSize(bytes.length)}`;
}

function tooLarge(shownAs: string, image: Image): string {
  const most = `${hardLimits.maxSide} pixels a side and ${showSize((maxBase64Bytes / 4) * 3)}`;
  return `${shownAs} is too large for providers (${describeImage(image)}; at most ${most}).`;
}

function base64Length(bytes: Buffer): number {
  return Math.ceil(bytes.length / 3) * 4;
}

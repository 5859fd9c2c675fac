import { fits, type Image, type ImageLimits } from "./read-image.ts";

/** Ways to write the smaller image, from the one that keeps most to the one that takes least. */
const attempts = [
  { scale: 1, mimeType: "image/png", quality: 100 },
  { scale: 1, mimeType: "image/jpeg", quality: 85 },
  { scale: 1, mimeType: "image/jpeg", quality: 60 },
  { scale: 0.5, mimeType: "image/jpeg", quality: 60 },
  { scale: 0.25, mimeType: "image/jpeg", quality: 50 },
] as const;

/** More pixels than this take too much memory to decode. */
const maxPixels = 200_000_000;

/**
 * Makes an image small enough for a provider, upright as its camera meant it. Nothing when it cannot be decoded, or when
 * the imaging library does not exist for this platform.
 */
export async function resizeImage(image: Image, limits: ImageLimits): Promise<Image | undefined> {
  try {
    const { default: sharp } = await import("sharp");
    for (const { scale, mimeType, quality } of attempts) {
      if (mimeType === "image/png" && image.mimeType === "image/jpeg") continue;
      const side = Math.round(limits.maxSide * scale);
      const scaled = sharp(image.bytes, { limitInputPixels: maxPixels })
        .rotate()
        .resize({ width: side, height: side, fit: "inside", withoutEnlargement: true });
      // JPEG has no transparency: white is what documents expect behind it.
      const encoded =
        mimeType === "image/png" ? scaled.png() : scaled.flatten({ background: "white" }).jpeg({ quality });
      const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
      const resized = { bytes: data, mimeType, width: info.width, height: info.height };
      if (fits(resized, limits)) return resized;
    }
  } catch {
    // The caller has words for an image that cannot be made smaller.
  }
  return undefined;
}

/** The version of the imaging library; undefined when it does not exist for this platform. */
export async function imagingVersion(): Promise<string | undefined> {
  try {
    return (await import("sharp")).default.versions.sharp;
  } catch {
    return undefined;
  }
}

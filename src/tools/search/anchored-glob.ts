import { isAbsolute, relative, sep } from "node:path";

/** The glob relative to the folder, when it says by itself where it starts. */
export function toAnchored(glob: string, folder: string): string | undefined {
  if (isAbsolute(glob)) {
    const inside = relative(folder, glob).split(sep).join("/");
    if (inside !== "" && inside !== ".." && !inside.startsWith("../")) return inside;
  }
  const withoutStart = glob.replace(/^\.?\/+/, "");
  return withoutStart === glob ? undefined : withoutStart;
}

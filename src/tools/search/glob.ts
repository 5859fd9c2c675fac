import picomatch from "picomatch";
import { toAnchored } from "./anchored-glob.ts";

/** Tells whether a path, relative to the searched folder and with `/`, is meant. */
export type GlobMatcher = (path: string) => boolean;

/**
 * Makes the test for a glob: without a slash it is about names in every folder, with one about paths from the searched
 * folder on. An absolute glob that leads into the folder is taken relative to it.
 */
export function globMatcher(glob: string, folder: string): GlobMatcher {
  const anchored = toAnchored(glob, folder);
  const matches = picomatch(anchored ?? glob, { dot: true, nonegate: true, noextglob: true });
  if (anchored !== undefined || glob.includes("/")) return (path) => matches(path);
  return (path) => matches(path.slice(path.lastIndexOf("/") + 1));
}

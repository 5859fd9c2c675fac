import { fstatSync, type Stats } from "node:fs";

/**
 * Whether a file is the one that an output of this process goes to (`/dev/stdout`, `> run.json`): another file in its
 * place would take all that was said.
 */
export function isOwnOutput({ dev, ino }: Stats, descriptors: readonly number[] = [1, 2]): boolean {
  return descriptors.some((descriptor) => {
    try {
      const own = fstatSync(descriptor);
      return own.dev === dev && own.ino === ino;
    } catch {
      return false;
    }
  });
}

import { readFile } from "node:fs/promises";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  plugins: [
    {
      // Prose and files of other languages are imported as text, as the build does it.
      name: "files-as-text",
      enforce: "pre",
      async load(id) {
        if (!/\.(?:md|py|txt)$/.test(id)) return undefined;
        return `export default ${JSON.stringify(await readFile(id, "utf8"))};`;
      },
    },
  ],
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
  },
});

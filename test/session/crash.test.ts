import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { openSession } from "../../src/session/store/open.ts";
import { message, useFolders, user } from "./samples.ts";

const makeFolder = useFolders();

test("a process that is killed at any moment has saved what it announced, and its session goes on", async () => {
  const folder = makeFolder();
  const program = join(folder, "run.mjs");
  await build({
    stdin: {
      contents: `
        import { writeSync } from "node:fs";
        import { createSession } from "./src/session/store/store.ts";
        const store = createSession({ folder: process.argv[2], cwd: "/", pid: process.pid, persist: true });
        for (let n = 0; ; n++) {
          const content = "x".repeat((n * 7919) % 30000);
          const entry = store.append({ type: "message", message: { role: "user", content, timestamp: 1 } });
          writeSync(1, entry.id + "\\n");
        }
      `,
      resolveDir: process.cwd(),
    },
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
    outfile: program,
  });
  for (let round = 0; round < 20; round++) {
    const sessions = join(folder, `sessions${round}`);
    const run = spawn(process.execPath, [program, sessions], { stdio: ["ignore", "pipe", "inherit"] });
    let announced = "";
    run.stdout.on("data", (bytes: Buffer) => {
      announced += bytes.toString();
      // Anywhere in the work that follows.
      if (announced.length > 13 * (1 + round * 7)) run.kill("SIGKILL");
    });
    await once(run, "close");
    const [name] = readdirSync(sessions).filter((file) => file.endsWith(".jsonl"));
    const warnings: string[] = [];
    const path = join(sessions, name ?? "");
    const store = openSession({ path, pid: process.pid, persist: true, warn: (line) => warnings.push(line) });
    const saved = new Set(store.branch().map(({ id }) => id));
    const lost = announced
      .split("\n")
      .slice(0, -1)
      .filter((id) => !saved.has(id));
    expect(lost).toEqual([]);
    store.append(message(user("next")));
    store.close();
    expect(warnings.length).toBeLessThanOrEqual(1);
  }
});

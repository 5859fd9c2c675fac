// Runs the main job with no key and no network: the real program on a recorded conversation.
import { ensureBuilt, ensureInstalled, run } from "./ensure-installed.mjs";

ensureInstalled();
ensureBuilt();
process.exitCode = run(process.execPath, [
  "dist/cli.js",
  "--mode",
  "json",
  "--replay",
  "docs/examples/list-files.cassette.jsonl",
  "--cwd",
  "docs/examples/demo",
  "List files",
]);

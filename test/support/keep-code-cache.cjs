// Preloaded into a run of the built program: keeps what V8 compiled of its files, each with the file behind it, in the
// folder CODE_CACHE. V8 takes a
// file's code back only with the flags that it was made with, and a run changes some when it has started. So two runs
// keep files: one that leaves the flags alone, those that are loaded before; one that changes them, those after.
"use strict";
const { readFileSync, writeFileSync } = require("node:fs");
const { basename, join } = require("node:path");
const v8 = require("node:v8");
const vm = require("node:vm");

const { CODE_CACHE: folder, CODE_CACHE_OF: wanted } = process.env;
const scripts = [];
let when = "before";

const { setFlagsFromString } = v8;
v8.setFlagsFromString = (flag) => {
  // The others change later, at a time that depends on the machine.
  if (!flag.startsWith("--interrupt-budget")) return;
  when = "after";
  if (wanted === "after") setFlagsFromString(flag);
};
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    scripts.push({ script: this, path: options.filename, when });
  }
};
process.on("exit", () => {
  for (const { script, path, when } of scripts) {
    if (when !== wanted) continue;
    const kept = Buffer.concat([script.createCachedData(), readFileSync(path)]);
    writeFileSync(join(folder, `${basename(path)}.bin`), kept);
  }
});

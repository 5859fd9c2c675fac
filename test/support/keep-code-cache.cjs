// Preloaded into a run of the built program: keeps what V8 compiled of its files in the folder CODE_CACHE. V8 takes a
// file's code back only with the flags that it was made with, so the flags stay as they are at the start.
"use strict";
const { writeFileSync } = require("node:fs");
const { basename, join } = require("node:path");
const v8 = require("node:v8");
const vm = require("node:vm");

const scripts = [];

v8.setFlagsFromString = () => {};
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    scripts.push({ script: this, name: basename(options.filename) });
  }
};
process.on("exit", () => {
  for (const { script, name } of scripts)
    writeFileSync(join(process.env.CODE_CACHE, `${name}.bin`), script.createCachedData());
});

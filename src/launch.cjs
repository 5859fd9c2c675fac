#!/usr/bin/env node
// Loads the program. To compile what a short run calls takes as long as all else that it does, so the build keeps what
// its own version of Node made of the files: where that fits, V8 takes it (and checks it); elsewhere Node 22 and later
// keep their own.
"use strict";
const { existsSync, mkdirSync, readFileSync } = require("node:fs");
const { Module, enableCompileCache } = require("node:module");
const { homedir } = require("node:os");
const { join } = require("node:path");
const vm = require("node:vm");

const codeCache = join(__dirname, "code-cache", `${process.version}-${process.arch}`);
if (!existsSync(codeCache)) keepCompiled();
load("./main.js");

/** Does what `require` does for a file of the program. */
function load(id) {
  const filename = join(__dirname, id);
  const known = require.cache[filename];
  if (known !== undefined) return known.exports;
  const cachedData = read(join(codeCache, `${id}.bin`));
  if (cachedData === undefined) return require(id);
  const script = new vm.Script(Module.wrap(readFileSync(filename, "utf8")), { filename, cachedData });
  const module = new Module(filename);
  // A file that Node loads finds it there.
  require.cache[filename] = module;
  const requireFrom = (wanted) => (wanted.startsWith("./") ? load(wanted) : require(wanted));
  script.runInThisContext()(module.exports, requireFrom, module, filename, __dirname);
  module.loaded = true;
  return module.exports;
}

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** In the home folder, where there is one: nobody else may write what is run. */
function keepCompiled() {
  const home = process.env.BASE_CONTEXT_HOME || join(homedir(), ".base-context");
  if (enableCompileCache === undefined || !existsSync(home)) return;
  const folder = join(home, "code-cache");
  try {
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    enableCompileCache(folder);
  } catch {
    // A home folder that cannot be written is told of by who needs it.
  }
}

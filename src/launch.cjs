#!/usr/bin/env node
// Loads the program. To compile what a short run calls takes as long as all else that it does, so the build keeps what
// its own version of Node made of the files: where that fits, V8 takes it; elsewhere Node 22 and later keep their own.
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
  const kept = read(join(codeCache, `${id}.bin`));
  if (kept === undefined) return require(id);
  const source = readFileSync(filename);
  const script = new vm.Script(Module.wrap(source.toString()), {
    filename,
    cachedData: codeOf(kept, source),
  });
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

/**
 * What V8 made of a file, behind which the file itself is kept: V8 compares no more than the length, and would run what
 * a file was before somebody changed it.
 */
function codeOf(kept, source) {
  const length = kept.length - source.length;
  return length > 0 && kept.subarray(length).equals(source) ? kept.subarray(0, length) : undefined;
}

/** In the home folder, where there is one: nobody else may write what is run. */
function keepCompiled() {
  if (enableCompileCache === undefined) return;
  try {
    const home = process.env.BASE_CONTEXT_HOME || join(homedir(), ".base-context");
    if (!existsSync(home)) return;
    const folder = join(home, "code-cache");
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    enableCompileCache(folder);
  } catch {
    // A home folder that cannot be found or written is told of by who needs it.
  }
}

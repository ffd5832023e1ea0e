"use strict";
// Loaded with --require before wrangler: keeps the compiled code of its main module in NODE_COMPILE_CACHE. Node's own
// compile cache stores a module before it runs, without the functions that are compiled on their first call, and these
// take a third of a command's processor time.
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const Module = require("node:module");
const { dirname, join } = require("node:path");
const vm = require("node:vm");

const folder = process.env.NODE_COMPILE_CACHE;
const compile = Module.prototype._compile;

if (folder !== undefined)
  Module.prototype._compile = function (content, filename, ...rest) {
    if (!/[\\/]wrangler[\\/]wrangler-dist[\\/]cli\.js$/.test(filename))
      return compile.call(this, content, filename, ...rest);
    Module.prototype._compile = compile;
    const cache = cacheFile(filename);
    const cachedData = read(cache);
    const script = new vm.Script(Module.wrap(content), {
      filename,
      ...(cachedData !== undefined && { cachedData }),
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    // V8 rejects the code of another version of V8 or of other flags.
    if (script.cachedDataRejected !== false)
      process.once("exit", () => {
        const draft = `${cache}.${process.pid}`;
        mkdirSync(folder, { recursive: true });
        writeFileSync(draft, script.createCachedData());
        renameSync(draft, cache);
      });
    const main = script.runInThisContext();
    return main.call(this.exports, this.exports, Module.createRequire(filename), this, filename, dirname(filename));
  };

/** V8 compares only the length of the source, so the name contains the version. */
function cacheFile(filename) {
  const { version } = JSON.parse(readFileSync(join(dirname(filename), "..", "package.json"), "utf8"));
  return join(folder, `wrangler-${version}-node-${process.version}`);
}

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

"use strict";
// Loaded with --require before wrangler: keeps the compiled code of its large modules in NODE_COMPILE_CACHE. Node's own
// compile cache stores a module before it runs, without the functions that are compiled on their first call, and these
// take a third of a command's processor time.
const { createHash } = require("node:crypto");
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const Module = require("node:module");
const { dirname, join } = require("node:path");
const vm = require("node:vm");

const folder = process.env.NODE_COMPILE_CACHE;
const compile = Module.prototype._compile;
/** wrangler's main module, miniflare, and undici's bundles. */
const LARGE_CHARACTERS = 100_000;

if (folder !== undefined)
  Module.prototype._compile = function (content, filename, ...rest) {
    if (content.length < LARGE_CHARACTERS) return compile.call(this, content, filename, ...rest);
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

/** V8 compares only the length of the source, so the name contains the package's version. */
function cacheFile(filename) {
  const [, root] = /^(.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(filename);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const name = createHash("sha256").update(`${filename} ${version} ${process.version}`).digest("hex").slice(0, 16);
  return join(folder, `wrangler-${name}`);
}

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

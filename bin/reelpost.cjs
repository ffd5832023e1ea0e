#!/usr/bin/env node
// The program needs Node 26, but may be started by an older version. Written for any version of Node: CommonJS, no new
// syntax.
"use strict";

const { existsSync, mkdirSync, statSync } = require("node:fs");
const { enableCompileCache, flushCompileCache } = require("node:module");
const { constants, homedir } = require("node:os");
const { dirname, isAbsolute, join } = require("node:path");
const { pathToFileURL } = require("node:url");

const WANTED = 26;
/** A server has started by then, and has handled its first requests. */
const COMPILED_AFTER_MS = 30000;
/** Set for the child process, so that two unsuitable versions cannot start each other forever. */
const GUARD = "REELPOST_LAUNCHED";

const root = dirname(__dirname);
const main = [join(root, "src", "cli", "main.ts"), join(root, "dist", "cli", "main.js")].find((file) => isUsable(file));

if (main === undefined)
  fail(
    "its files are missing: neither dist/cli/main.js nor src/cli/main.ts is there",
    "install the package again, or run `npm run build` in a checkout",
  );
else if (isVersionOnly(process.argv.slice(2))) process.stdout.write(require("../package.json").version + "\n");
else if (major() >= WANTED) start(main);
else relaunch();

/** The version needs no part of the program. With further options, the program prints it. */
function isVersionOnly(args) {
  return args.length === 1 && (args[0] === "--version" || args[0] === "-v");
}

function start(file) {
  delete process.env[GUARD];
  keepCompiled();
  import(pathToFileURL(file).href).catch((error) => fail((error && error.stack) || String(error)));
}

/**
 * Compilation takes most of a command's time: Node caches the compiled code for the next command, under ~/.cache as
 * specified in https://specifications.freedesktop.org/basedir-spec. Not in the temporary directory, where other users
 * could plant code to be run, and not in another user's home, as with sudo. A failure never prevents a start.
 */
function keepCompiled() {
  try {
    const set = process.env.XDG_CACHE_HOME || "";
    const own = isAbsolute(set) ? set : process.env.HOME || homedir();
    if (process.getuid !== undefined && statSync(own).uid !== process.getuid()) return;
    const cache = join(own, isAbsolute(set) ? "." : ".cache");
    // Creates one folder at a time: on some file systems, such as /proc, a recursive mkdir in Node never ends.
    for (const folder of [cache, join(cache, "reelpost")]) if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    enableCompileCache(join(cache, "reelpost", "compiled"));
    // Node writes the code when the process exits, which a killed server never does.
    setTimeout(flushCompileCache, COMPILED_AFTER_MS).unref();
  } catch {
    // Without a writable home directory, nothing is cached.
  }
}

/** In a checkout the sources are current and dist may be outdated. Under node_modules, Node does not strip types. */
function isUsable(file) {
  return existsSync(file) && !(file.endsWith(".ts") && file.split(/[\\/]/).includes("node_modules"));
}

function major() {
  return Number(process.versions.node.split(".")[0]);
}

function relaunch() {
  if (process.env[GUARD] !== undefined)
    return fail(
      "it needs Node " + WANTED + ", and the packaged one is " + process.version,
      "install the package again",
    );
  const node = packagedNode();
  if (node === undefined)
    return fail(
      "it needs Node " + WANTED + " or newer, this is " + process.version + ", and the package `node` is not installed",
      "run `npm install` with install scripts allowed, or use Node " + WANTED,
    );
  const { spawn } = require("node:child_process");
  const env = Object.assign({}, process.env, { [GUARD]: "1" });
  const child = spawn(node, [__filename, ...process.argv.slice(2)], {
    stdio: ["inherit", "inherit", "inherit", ...handedOver(env)],
    env,
  });
  child.on("error", (error) =>
    fail("the packaged Node cannot be run: " + error.message, "use Node " + WANTED + " or newer"),
  );
  // A terminal sends Ctrl-C to both processes; the child decides how to respond. A signal sent only to this process is
  // passed on.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
  const onTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
  const forward = (signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, signal === "SIGINT" && onTerminal ? () => {} : forward);
  child.on("exit", (code, signal) => {
    for (const name of signals) process.removeAllListeners(name);
    if (signal === null) process.exitCode = code;
    else endAs(signal);
  });
}

/** Exits with the same status as the child, so that a shell sees the same result. */
function endAs(signal) {
  process.exitCode = 128 + (constants.signals[signal] || 0);
  process.kill(process.pid, signal);
}

/** Sockets of a service manager (sd_listen_fds(3)) belong to this process until it passes them on. */
function handedOver(env) {
  if (Number(env.LISTEN_PID) !== process.pid) return [];
  delete env.LISTEN_PID;
  return Array.from({ length: Number(env.LISTEN_FDS) || 0 }, (_, index) => 3 + index);
}

function packagedNode() {
  try {
    const folder = dirname(require.resolve("node/package.json"));
    return [join(folder, "bin", "node"), join(folder, "bin", "node.exe")].find((file) => existsSync(file));
  } catch {
    return undefined;
  }
}

function fail(what, fix) {
  process.stderr.write("reelpost cannot start: " + what + "\n" + (fix === undefined ? "" : "fix: " + fix + "\n"));
  process.exitCode = 1;
}

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

const LAUNCHER = fileURLToPath(new URL("../../bin/reelpost.cjs", import.meta.url));

/** The program in these tests: prints its arguments, then does what the first one says. */
const MAIN = `
const [what] = process.argv.slice(2);
if (what === "wait") { process.on("SIGTERM", () => process.exit(5)); setTimeout(() => process.exit(9), 60_000); }
console.log(JSON.stringify({ args: process.argv.slice(2), guard: process.env.REELPOST_LAUNCHED ?? null }));
if (what === "exit") process.exitCode = 7;
if (what === "stdin") process.stdin.pipe(process.stdout);
if (what === "die") process.kill(process.pid, "SIGKILL");
if (what === "die-later") { globalThis.pendingTimer(); process.kill(process.pid, "SIGKILL"); }
if (what === "throw") throw new Error("from main");
`;

/** Makes every Node process report an old version, except the process that the launcher starts. */
const PRETEND = `if (process.env.REELPOST_LAUNCHED === undefined) Object.defineProperty(process.versions, "node", { value: "20.19.0" }), Object.defineProperty(process, "version", { value: "v20.19.0" });`;

interface Layout {
  main?: string | null;
  packagedNode?: boolean;
}

async function install(t: TestContext, { main = "dist/cli/main.js", packagedNode = true }: Layout = {}) {
  const root = await mkdtemp(join(tmpdir(), "reelpost-launcher-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  await cp(LAUNCHER, join(root, "bin/reelpost.cjs"));
  await writeFile(join(root, "pretend.cjs"), PRETEND);
  await writeFile(join(root, "package.json"), '{ "type": "module" }');
  if (main !== null) {
    await mkdir(dirname(join(root, main)), { recursive: true });
    await writeFile(join(root, main), MAIN);
  }
  if (packagedNode) {
    await mkdir(join(root, "node_modules/node/bin"), { recursive: true });
    await writeFile(join(root, "node_modules/node/package.json"), "{}");
    await symlink(process.execPath, join(root, "node_modules/node/bin/node"));
  }
  return root;
}

function launch(
  root: string,
  args: string[],
  { old = false, env = {} }: { old?: boolean; env?: Record<string, string> } = {},
) {
  const { NODE_COMPILE_CACHE: _, XDG_CACHE_HOME: __, ...others } = process.env;
  const child = spawn(
    process.execPath,
    [...(old ? ["--require", join(root, "pretend.cjs")] : []), join(root, "bin/reelpost.cjs"), ...args],
    { stdio: "pipe", env: { ...others, HOME: root, ...env } },
  );
  return { child, ended: collect(child) };
}

async function collect(child: ChildProcess) {
  let [stdout, stderr] = ["", ""];
  child.stdout!.on("data", (chunk) => (stdout += chunk));
  child.stderr!.on("data", (chunk) => (stderr += chunk));
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}

test("a recent Node version runs the program directly", async (t) => {
  const root = await install(t);
  const { code, stdout } = await launch(root, ["exit", "--flag", "a b"]).ended;
  assert.deepEqual([code, JSON.parse(stdout)], [7, { args: ["exit", "--flag", "a b"], guard: null }]);
});

test("prints the version without loading the program, with any Node version", async (t) => {
  const root = await install(t);
  await writeFile(join(root, "package.json"), '{ "type": "module", "version": "1.2.3" }');
  for (const old of [false, true])
    for (const option of ["--version", "-v"]) {
      const { code, stdout, stderr } = await launch(root, [option], { old }).ended;
      assert.deepEqual([code, stdout, stderr], [0, "1.2.3\n", ""]);
    }
  assert.deepEqual(JSON.parse((await launch(root, ["--version", "--json"]).ended).stdout).args, [
    "--version",
    "--json",
  ]);
});

test("an old Node version starts the packaged one, with the same arguments, stdin and exit code", async (t) => {
  const root = await install(t);
  const { code, stdout } = await launch(root, ["exit", "--flag", "a b"], { old: true }).ended;
  assert.deepEqual([code, JSON.parse(stdout).args, JSON.parse(stdout).guard], [7, ["exit", "--flag", "a b"], null]);
  const { child, ended } = launch(root, ["stdin"], { old: true });
  child.stdin!.end("through");
  assert.match((await ended).stdout, /\nthrough$/);
});

test("forwards signals to the program, and exits when it does", async (t) => {
  const root = await install(t);
  const waiting = launch(root, ["wait"], { old: true });
  await once(waiting.child.stdout!, "data");
  waiting.child.kill("SIGTERM");
  assert.deepEqual(await waiting.ended.then(({ code, signal }) => [code, signal]), [5, null]);
  const { code, signal } = await launch(root, ["die"], { old: true }).ended;
  assert.deepEqual([code, signal], [null, "SIGKILL"]);
});

test("reports missing files with a fix", async (t) => {
  const nothing = await launch(await install(t, { main: null }), []).ended;
  assert.deepEqual(
    [nothing.code, nothing.stderr],
    [
      1,
      "reelpost cannot start: its files are missing: neither dist/cli/main.js nor src/cli/main.ts is there\nfix: install the package again, or run `npm run build` in a checkout\n",
    ],
  );
  const old = await launch(await install(t, { packagedNode: false }), [], { old: true }).ended;
  assert.equal(old.code, 1);
  assert.match(
    old.stderr,
    /^reelpost cannot start: it needs Node 26 or newer, this is v20\.19\.0, and the package `node` is not installed\nfix: /,
  );
  const thrown = await launch(await install(t), ["throw"]).ended;
  assert.equal(thrown.code, 1);
  assert.match(thrown.stderr, /Error: from main/);
});

test("runs the sources in a checkout, but only the built files under node_modules", async (t) => {
  const root = await install(t, { main: "src/cli/main.ts" });
  assert.equal((await launch(root, []).ended).code, 0);
  await mkdir(join(root, "node_modules/reelpost"), { recursive: true });
  for (const name of ["bin", "src"])
    await cp(join(root, name), join(root, "node_modules/reelpost", name), { recursive: true });
  assert.match((await launch(join(root, "node_modules/reelpost"), []).ended).stderr, /its files are missing/);
});

test("compiled code is cached for the next start, under the home directory or in the configured cache directory", async (t) => {
  const root = await install(t);
  const keptIn = (folder: string) =>
    readdir(join(root, folder, "reelpost/compiled"), { recursive: true }).catch(() => []);
  assert.equal((await launch(root, []).ended).code, 0);
  // The cache contains a folder for this Node version with the compiled program.
  assert.ok((await keptIn(".cache")).length > 1);
  await mkdir(join(root, "cache"));
  assert.equal((await launch(root, [], { env: { XDG_CACHE_HOME: join(root, "cache") } }).ended).code, 0);
  assert.ok((await keptIn("cache")).length > 1);
});

test("compiled code of a server that is killed later is cached, too", async (t) => {
  const root = await install(t);
  const timers = join(root, "timers.cjs");
  await writeFile(timers, "globalThis.setTimeout = (run) => ({ unref() { globalThis.pendingTimer = run; } });");
  const { signal } = await launch(root, ["die-later"], { env: { NODE_OPTIONS: `--require=${timers}` } }).ended;
  assert.equal(signal, "SIGKILL");
  assert.ok((await readdir(join(root, ".cache/reelpost/compiled"), { recursive: true })).length > 1);
});

test("starts even if HOME does not exist, is a file or is not writable", async (t) => {
  const root = await install(t);
  await writeFile(join(root, "file"), "");
  // No user can create files below /proc.
  for (const HOME of [join(root, "none"), join(root, "file"), "/proc"]) {
    const { code, stderr } = await launch(root, [], { env: { HOME } }).ended;
    assert.deepEqual([HOME, code, stderr], [HOME, 0, ""]);
  }
});

test(
  "does not write to a HOME of another user",
  { skip: process.getuid?.() !== 0 && "needs root, to change the owner of a folder" },
  async (t) => {
    const root = await install(t);
    await mkdir(join(root, "theirs"));
    await chown(join(root, "theirs"), 65_534, 65_534);
    assert.equal((await launch(root, [], { env: { HOME: join(root, "theirs") } }).ended).code, 0);
    assert.deepEqual(await readdir(join(root, "theirs")), []);
  },
);

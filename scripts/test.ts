/**
 * Test runner: checks for required system programs, starts one shared PostgreSQL and one shared S3 server, and runs every
 * `*.test.ts` of src/, test/, bench/ and drills/.
 *
 *     npm test                         all except the soak tests
 *     npm test -- store/jobs           only files whose path contains one of the words
 *     npm test -- --name "a lease"     only tests whose name matches
 *     npm test -- --objects-in-s3      with the objects of the tests in a bucket instead of folders
 *     npm test -- --concurrency 1      one file at a time
 *     npm run test:soak                the soak tests
 *     npm test -- --record             writes the durations of the slow files to scripts/test/times.json
 *
 * With REQUIRE_ALL=1 a skipped or todo test fails the run.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { FREE_PORTS } from "../test/support/free-ports.ts";
import { PROGRAM } from "../test/support/program.ts";
import { createSources } from "./imports.ts";
import { memoryFolder } from "./memory-folder.ts";
import { ensureSystem } from "./system.ts";
import { testFiles } from "./test/files.ts";
import { sharesProcess, writeGroups } from "./test/in-turn.ts";
import { needsOf } from "./test/needs.ts";
import { type Times, schedule } from "./test/order.ts";
import { impurity } from "./test/pure.ts";

const ROOT = join(import.meta.dirname, "..");
const TEST_TIMEOUT_MS = { usual: 240_000, soak: 8 * 3600_000 };
/** A test that blocks its process cannot time out, so the run ends after this long without any event. */
const SILENCE_MS = { usual: 300_000, soak: 8 * 3600_000 };
/** Number of slow files listed at the end. */
const SLOWEST = 25;
/** Runs all pure files within its process. */
const PURE_GROUP = "scripts/test/pure-files.ts";
/** Durations of faster files are not recorded for fresh checkouts. */
const RECORDED_MS = 5_000;
const CACHE = join(ROOT, "node_modules/.cache");
/** Programs that this run generates. */
const GROUPS = join(CACHE, `reelpost-test-groups/${process.pid}`);
const LAST_TIMES = join(CACHE, "reelpost-test-times.json");
const RECORDED_TIMES = join(ROOT, "scripts/test/times.json");

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    soak: { type: "boolean", default: false },
    name: { type: "string", multiple: true },
    "objects-in-s3": { type: "boolean", default: false },
    concurrency: { type: "string" },
    record: { type: "boolean", default: false },
  },
});

const files = testFiles(ROOT)
  .filter((file) => file.endsWith(".soak.test.ts") === options.soak)
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)));

if (files.length === 0)
  fail(`no test file ${words.length > 0 ? `has ${words.join(" or ")} in its path` : "was found"}`);

const sources = createSources(ROOT);
const pure = files.filter((file) => impurity(sources, file) === undefined);
const needs = needsOf(sources, files);
const requireAll = process.env["REQUIRE_ALL"] === "1";
const missing = pure.length < files.length || requireAll ? ensureSystem("test") : [];
if (requireAll && missing.length > 0) fail(`REQUIRE_ALL=1, and ${missing.join(", ")} is missing`);

for (const [name, port] of Object.entries(FREE_PORTS)) process.env[name] ??= port;

// A server without this setting tests the hardware encoders at its start, which takes several ffmpeg runs.
process.env["REELPOST_STREAM_ENCODER"] ??= "software";

// Thousands of processes in these tests load the same modules and share the compiled code.
process.env["NODE_COMPILE_CACHE"] ??= join(CACHE, "reelpost-tests");

// Clips are created once and reused; all other test files are stored in memory if there is enough.
process.env["TEST_CLIPS_FOLDER"] ??= tmpdir();
const memory = process.env["TMPDIR"] === undefined ? memoryFolder() : undefined;
if (memory) process.env["TMPDIR"] = memory.path;

const [cluster, s3, program] = await Promise.all([
  needs.postgres ? sharedCluster() : undefined,
  needs.s3 || options["objects-in-s3"] ? sharedS3() : undefined,
  needs.program ? bundledProgram() : undefined,
  needs.clients ? installClients() : undefined,
]);
if (program !== undefined) process.env[PROGRAM] = program;
try {
  await runTests();
} finally {
  await cluster?.stop();
  await s3?.stop();
  memory?.remove();
  rmSync(GROUPS, { recursive: true, force: true });
}

// Loaded on demand: a run of pure files starts quickly because it needs none of these.

async function sharedCluster() {
  const { SHARED_CLUSTER, SHARED_TEMPLATES, startCluster } = await import("../test/support/postgres.ts");
  const started = await startCluster();
  if (started?.template) process.env[SHARED_TEMPLATES] = "1";
  if (started) process.env[SHARED_CLUSTER] = started.url;
  return started;
}

async function sharedS3() {
  const { openBucket, SHARED_S3_VARIABLE: SHARED_S3, startS3 } = await import("../test/support/radosgw.ts");
  const started = await startS3();
  if (started) process.env[SHARED_S3] = JSON.stringify(started);
  if (options["objects-in-s3"]) {
    if (started === undefined) fail("--objects-in-s3 requires Ceph: node scripts/system.ts test");
    const { OBJECTS_IN_S3 } = await import("../test/support/objects-lane.ts");
    // The bucket needs no cleanup: it is removed with the server.
    const { url, env } = await openBucket({ after: () => {} }, started);
    Object.assign(process.env, env, { [OBJECTS_IN_S3]: url });
  }
  return started;
}

async function bundledProgram() {
  const { programForTests } = await import("./test/program.ts");
  return programForTests(ROOT, join(CACHE, "reelpost-program"));
}

/** Installs real clients in a separate folder, so that the project itself does not depend on their packages. */
async function installClients() {
  await import("./install-clients.ts");
}

async function runTests() {
  const kind = options.soak ? "soak" : "usual";
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
  const notRun: string[] = [];
  // A test file with its servers and child processes uses about half a core: it also waits for timers, players, disks
  // and background encoding. Three files per core take as long in total as two, and each takes twice as long.
  const concurrency = Number(options.concurrency ?? Math.min(8, availableParallelism() + 2));
  const recorded = readTimes(RECORDED_TIMES);
  const times: Times = { ...recorded, ...readTimes(LAST_TIMES) };
  const events = run({
    cwd: ROOT,
    files: schedule(grouped(recorded, times), times, concurrency).map((file) => join(ROOT, file)),
    concurrency,
    // forceExit is not set: it would end a file's process with its last results still in the pipe.
    timeout: TEST_TIMEOUT_MS[kind],
    signal: interrupted.signal,
    ...(options.name ? { testNamePatterns: options.name } : {}),
  });
  events.on("test:fail", ({ todo }) => {
    if (todo === undefined || todo === false) process.exitCode = 1;
  });
  events.on("test:pass", ({ name, file, skip, todo }) => {
    if (given(skip) || given(todo)) notRun.push(`${name} (${file ?? "?"}): ${String(skip ?? todo)}`);
  });
  const took = new Map<string, number>();
  events.on("test:summary", ({ file, success, duration_ms: ms }) => {
    if (file !== undefined) took.set(relative(ROOT, file), ms);
    // The summary that has no file covers the whole run.
    else if (!success) process.exitCode = 1;
  });
  const silence = setTimeout(() => {
    process.stderr.write(`no test began or ended for ${SILENCE_MS[kind] / 60_000} minutes: the run is ended\n`);
    interrupted.abort();
  }, SILENCE_MS[kind]).unref();
  for (const news of ["test:dequeue", "test:complete"] as const) events.on(news, () => void silence.refresh());
  await new Promise<void>((resolve, reject) => {
    events.compose(spec()).on("error", reject).on("end", resolve).pipe(process.stdout, { end: false });
  });
  clearTimeout(silence);
  if (took.size > SLOWEST) {
    const slowest = [...took].sort(([, a], [, b]) => b - a).slice(0, SLOWEST);
    process.stdout.write(
      `Temporary files were stored ${memory === undefined ? `in ${tmpdir()}` : "in memory"}. The slowest test files:\n${slowest.map(([file, ms]) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}\n`).join("")}`,
    );
  }
  if (!interrupted.signal.aborted && options.name === undefined) keepTimes(times, took);
  if (interrupted.signal.aborted) process.exitCode = 130;
  if (notRun.length > 0 && requireAll) {
    process.stderr.write(
      `REQUIRE_ALL=1, but ${notRun.length} tests did not run:\n${notRun.map((line) => `  ${line}\n`).join("")}`,
    );
    process.exitCode = 1;
  }
}

/**
 * Returns the programs of the run: all pure files share one process, other fast files take turns in some, and each of
 * the rest has its own. Adds the expected durations of the groups to `times`.
 */
function grouped(recorded: Times, times: Times): string[] {
  const impure = files.filter((file) => !pure.includes(file));
  // Node skips a suite without a matching test, and the group would wait for it forever.
  const inTurn = options.name
    ? []
    : impure.filter((file) => sharesProcess(file, sources.get(file)!.text, recorded[file]));
  if (pure.length > 1) process.env["TEST_PURE_FILES"] = JSON.stringify(pure.map((file) => join(ROOT, file)));
  const groups = writeGroups(GROUPS, ROOT, inTurn, recorded).map(({ program, ms }) => {
    const name = relative(ROOT, program);
    times[name] = ms;
    return name;
  });
  return [...(pure.length > 1 ? [PURE_GROUP] : pure), ...groups, ...impure.filter((file) => !inTurn.includes(file))];
}

function readTimes(path: string): Times {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Times;
  } catch {
    // The file is missing before the first run; it affects only the order.
    return {};
  }
}

function keepTimes(before: Times, took: ReadonlyMap<string, number>): void {
  const ofFiles = [...took].filter(([file]) => !file.startsWith(relative(ROOT, GROUPS)));
  const times: Times = { ...before, ...Object.fromEntries(ofFiles) };
  mkdirSync(dirname(LAST_TIMES), { recursive: true });
  writeFileSync(LAST_TIMES, JSON.stringify(times));
  if (!options.record) return;
  const slow = ofFiles.filter(([, ms]) => ms >= RECORDED_MS).sort(([, a], [, b]) => b - a);
  const rounded = Object.fromEntries(slow.map(([file, ms]) => [file, Math.round(ms / 1000) * 1000]));
  writeFileSync(RECORDED_TIMES, `${JSON.stringify(rounded, null, 2)}\n`);
}

/** `skip` or `todo`: absent or false if the test ran, else true or the reason. */
function given(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false;
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

/**
 * Test runner: checks for required system programs, starts one shared PostgreSQL, and runs every `*.test.ts` of src/, test/ and drills/.
 *
 *     npm test                         all but the soak tests
 *     npm test -- store/jobs           only files whose path contains one of the words
 *     npm test -- --name "a lease"     only tests whose name matches
 *     npm run test:soak                the soak tests
 *
 * With REQUIRE_ALL=1 a test that was skipped or left to do fails the run.
 */
import { globSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { FREE_PORTS } from "../test/support/free-ports.ts";
import { SHARED_CLUSTER, startCluster } from "../test/support/postgres.ts";
import { installLocked } from "./install-locked.ts";
import { memoryFolder } from "./memory-folder.ts";
import { ensureSystem } from "./system.ts";

const ROOT = join(import.meta.dirname, "..");
const TEST_TIMEOUT_MS = { usual: 120_000, soak: 8 * 3600_000 };
/** A test that blocks its process cannot time itself out: with no news from anywhere for this long, the run ends. */
const SILENCE_MS = { usual: 300_000, soak: 8 * 3600_000 };
/** So many files are named at the end, with the time they took. */
const SLOWEST = 25;

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { soak: { type: "boolean", default: false }, name: { type: "string", multiple: true } },
});

const files = globSync(["src/**/*.test.ts", "test/**/*.test.ts", "drills/**/*.test.ts"], { cwd: ROOT })
  .filter((file) => file.endsWith(".soak.test.ts") === options.soak)
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  // Whole servers, browsers and clients first: the many short files keep every core busy to the end.
  .sort((a, b) => Number(a.startsWith("src")) - Number(b.startsWith("src")) || (a < b ? -1 : 1));

if (files.length === 0)
  fail(`no test file ${words.length > 0 ? `has ${words.join(" or ")} in its path` : "was found"}`);

const requireAll = process.env["REQUIRE_ALL"] === "1";
const missing = ensureSystem("test");
if (requireAll && missing.length > 0) fail(`REQUIRE_ALL=1, and ${missing.join(", ")} is missing`);

// Real clients, in a folder of their own: what they depend on is nobody else's business.
if (files.some((file) => /^test\/(interop|docs)\//.test(file)))
  await installLocked(join(ROOT, "test/clients"), (line) => process.stderr.write(`${line}\n`));

for (const [name, port] of Object.entries(FREE_PORTS)) process.env[name] ??= port;

// Some thousand processes of these tests load the same modules: what one has compiled, the others read.
process.env["NODE_COMPILE_CACHE"] ??= join(ROOT, "node_modules/.cache/reelpost-tests");

// Clips are made once and kept; everything else that tests write goes into memory, where there is room.
process.env["TEST_CLIPS_FOLDER"] ??= tmpdir();
const memory = process.env["TMPDIR"] === undefined ? memoryFolder() : undefined;
if (memory) process.env["TMPDIR"] = memory.path;

const cluster = await startCluster();
if (cluster) process.env[SHARED_CLUSTER] = cluster.url;
try {
  await runTests();
} finally {
  await cluster?.stop();
  memory?.remove();
}

async function runTests() {
  const kind = options.soak ? "soak" : "usual";
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
  const notRun: string[] = [];
  const events = run({
    cwd: ROOT,
    files: files.map((file) => join(ROOT, file)),
    // Tests start servers and child processes of their own, and wait for them: one more than there are cores keeps them busy, more than eight help nobody.
    concurrency: Math.min(8, Math.max(2, availableParallelism() + 1)),
    // Not forceExit: it ends a file's process with its last results still in the pipe, and they are lost without a word.
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
    // The one without a file is the summary of the whole run.
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
      `The slowest files:\n${slowest.map(([file, ms]) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}\n`).join("")}`,
    );
  }
  if (interrupted.signal.aborted) process.exitCode = 130;
  if (notRun.length > 0 && requireAll) {
    process.stderr.write(
      `REQUIRE_ALL=1, but ${notRun.length} tests did not run:\n${notRun.map((line) => `  ${line}\n`).join("")}`,
    );
    process.exitCode = 1;
  }
}

/** Of `skip` and `todo`: absent or false when the test ran, else true or the reason. */
function given(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false;
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

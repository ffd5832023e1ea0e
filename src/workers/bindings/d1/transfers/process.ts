import { spawn, type ChildProcess } from "node:child_process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { d1Errors } from "../errors.ts";
import type { D1Limits } from "../limits.ts";
import type { ExportOptions } from "./export-sql.ts";
import type { Imported, ImportRequest } from "./import-sql.ts";
import type { TransferOutcome, TransferTask } from "./task.ts";

const HEAP_MB = 512;
const MAX_STDERR_LENGTH = 4_096;
const MODULE = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./child.ts" : "./child.js", import.meta.url));

/**
 * Runs SQL on a database file that no other process has open, completely or not at all. Rejects with `d1Errors.sql` for
 * SQL errors.
 */
export async function runImport(
  sql: Readable,
  request: ImportRequest,
  { directory, limits, signal }: { directory: string; limits: D1Limits; signal?: AbortSignal },
): Promise<Imported> {
  const child = start({ kind: "import", request, limits }, directory, signal);
  // A child that rejects the SQL stops reading: its report is what counts, not the broken pipe.
  const stdinDone = pipeline(sql, child.process.stdin!).catch((reason: unknown) => ({ reason }));
  // Unread output would block it.
  child.process.stdout!.resume();
  try {
    return (await child.ended) as Imported;
  } catch (err) {
    sql.destroy();
    // If the input could not be read, that is the cause of the child's error.
    const stdinError = await stdinDone;
    if (stdinError && err instanceof Ended && sql.errored) throw stdinError.reason;
    throw err;
  }
}

/**
 * Exports a consistent snapshot of a database file as SQL; other processes may keep using the file. The stream fails if
 * the export fails.
 */
export function runExport(
  file: string,
  options: ExportOptions,
  { directory, limits, signal }: { directory: string; limits: D1Limits; signal?: AbortSignal },
): Readable {
  const child = start({ kind: "export", file, options, limits }, directory, signal);
  async function* read() {
    try {
      yield* child.process.stdout as AsyncIterable<Uint8Array>;
      await child.ended;
    } finally {
      child.process.kill("SIGKILL");
      await child.ended.catch(() => {});
    }
  }
  return Readable.from(read(), { objectMode: false });
}

/** A child ended without finishing its work, for a reason other than the SQL. */
class Ended extends Error {}

/**
 * Parses the report of a child process; undefined if the process was killed before it had written the whole report.
 */
function readOutcome(output: string): TransferOutcome | undefined {
  try {
    return output === "" ? undefined : (JSON.parse(output) as TransferOutcome);
  } catch {
    return undefined;
  }
}

function start(
  task: TransferTask,
  directory: string,
  signal: AbortSignal | undefined,
): { process: ChildProcess; ended: Promise<object> } {
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, MODULE, JSON.stringify(task)], {
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    env: { SQLITE_TMPDIR: directory },
  });
  let output = "";
  let stderrText = "";
  // If the process could not start for lack of file descriptors, it has no streams; its error event follows.
  (child.stdio?.[3] as Readable | undefined)
    ?.setEncoding("utf8")
    .on("data", (text: string) => (output += text))
    .on("error", () => {});
  child.stderr
    ?.setEncoding("utf8")
    .on("data", (text: string) => (stderrText = (stderrText + text).slice(-MAX_STDERR_LENGTH)));
  child.stdin?.on("error", () => {});
  if (task.kind === "export") child.stdin?.end();

  let isTimedOut = false;
  const stop = () => child.kill("SIGKILL");
  const timer = setTimeout(() => {
    isTimedOut = true;
    stop();
  }, task.limits.transferMs).unref();
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });

  const outcomePromise = new Promise<object>((resolve, reject) => {
    const finish = (exitReason: string) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      const childOutcome = readOutcome(output) ?? {
        fault: `${exitReason}${stderrText === "" ? "" : `: ${stderrText.trim()}`}`,
      };
      if ("done" in childOutcome) resolve(childOutcome.done);
      else if ("refused" in childOutcome) reject(d1Errors.sql({ text: childOutcome.refused }));
      else if (isTimedOut) reject(d1Errors.transferTooLong({ transferMs: task.limits.transferMs }));
      else reject(signal?.aborted ? signal.reason : new Ended(childOutcome.fault));
    };
    child.once("error", (error) => finish(error.message));
    child.once("close", (code, name) => finish(`the process exited with ${name ?? `code ${code}`}`));
  });
  outcomePromise.catch(() => {});
  return { process: child, ended: outcomePromise };
}

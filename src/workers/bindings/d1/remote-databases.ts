import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { PrimaryProcess, PrimaryProcessService } from "../../../kernel/primary-process.ts";
import { messageOf, UserError, type Log } from "../../../kernel/index.ts";
import type { StatementOptions } from "./database.ts";
import type { D1Databases } from "./port.ts";
import { d1Errors } from "./errors.ts";
import { createFrameReader, writeFrame, type Frame } from "./frames.ts";
import { d1Limits } from "./limits.ts";
import { createStatementCalls } from "./statement-calls.ts";

/**
 * D1 for several processes on one machine: the primary process owns the files, and the others send their calls to it.
 *
 * SQLite itself would allow all processes to open the files, but not with the guarantees of one process:
 *
 * - One queue per database orders its requests, bounds the waiting ones, and shares out the time. SQLite's locks are
 *   polled and unfair, and a transaction that reads first and then writes fails with SQLITE_BUSY_SNAPSHOT if another
 *   process has committed meanwhile (https://sqlite.org/isolation.html).
 * - An import, a replacement and a deletion need the file for themselves. Replacing a file that another process has open
 *   corrupts it (https://sqlite.org/howtocorrupt.html#_unlinking_or_renaming_a_database_file_while_in_use).
 *
 * The statements run in processes of their own either way (process-main.ts), so the primary process only passes bytes on.
 */

/** The service of the primary process that executes calls from createRemoteDatabases(). */
export const D1_CALLS = "d1";

type Call =
  | { op: "exchange"; id: string; options: StatementOptions }
  | { op: "size"; id: string }
  | { op: "delete"; id: string };

const NO_BYTES = new Uint8Array();

/**
 * The databases of the primary process. A call waits while that process restarts; if it ends during the call, the call
 * rejects with `d1Errors.reset`, and the transaction is either complete on disk or absent. Imports, exports and
 * replacements run only in the primary process.
 */
export function createRemoteDatabases(
  { connect }: Pick<PrimaryProcess, "connect">,
  { log }: { log: Log },
): D1Databases {
  const limits = d1Limits;
  const closing = new AbortController();

  async function send(call: Call, body: Uint8Array, signal?: AbortSignal): Promise<Frame> {
    const stop = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
    let socket: Socket;
    try {
      socket = await connect(D1_CALLS, call, stop);
    } catch (cause) {
      stop.throwIfAborted();
      log.error({ reason: messageOf(cause) }, "d1: failed to reach the primary process");
      throw d1Errors.reset({}, { cause });
    }
    try {
      const response = await exchangeFrames(socket, body, stop);
      if (response.header.error !== undefined) throw toError(response.header.error as SentError);
      return response;
    } finally {
      socket.destroy();
    }
  }

  async function exchange(id: string, options: StatementOptions, body: Uint8Array, signal?: AbortSignal) {
    if (body.length > limits.requestBytes) throw d1Errors.requestTooLarge({ requestBytes: limits.requestBytes });
    return (await send({ op: "exchange", id, options }, body, signal)).body;
  }

  const runsElsewhere = () => Promise.reject(d1Errors.elsewhere());

  return {
    limits,
    exchange,
    ...createStatementCalls(exchange),
    import: runsElsewhere,
    replace: runsElsewhere,
    export: () =>
      new Readable({
        read() {
          this.destroy(d1Errors.elsewhere());
        },
      }),
    size: async (id) => Number((await send({ op: "size", id }, NO_BYTES)).header.size),
    delete: async (id) => void (await send({ op: "delete", id }, NO_BYTES)),
    async close() {
      closing.abort(d1Errors.closed());
    },
  };
}

/** Sends a frame and resolves with the frame that answers it. */
async function exchangeFrames(socket: Socket, body: Uint8Array, signal: AbortSignal): Promise<Frame> {
  const { promise, resolve, reject } = Promise.withResolvers<Frame>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  let cause: unknown = new Error("the primary process ended the connection");
  socket
    .on("error", (err) => (cause = err))
    .once("close", () => reject(d1Errors.reset({}, { cause })))
    .on("data", createFrameReader(resolve));
  writeFrame(socket, {}, body);
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}

/** Executes the calls of other processes. */
export const serveDatabases =
  (databases: Pick<D1Databases, "exchange" | "size" | "delete">, { log }: { log: Log }): PrimaryProcessService =>
  async (call, connection) => {
    const gone = new AbortController();
    const closed = new Promise<void>((resolve) => void connection.once("close", resolve));
    void closed.then(() => gone.abort(new Error("the calling process ended the connection")));
    try {
      const requested = new Promise<Frame>((resolve) => {
        connection.on("data", createFrameReader(resolve));
      });
      const request = await Promise.race([requested, closed]);
      if (request === undefined) return;
      const response = await execute(databases, call as unknown as Call, request.body, gone.signal);
      writeFrame(connection, response.header, response.body);
    } catch (err) {
      if (gone.signal.aborted) return;
      if (!(err instanceof UserError))
        log.error({ err, database: call.id }, "d1: failed to execute a call from another process");
      writeFrame(connection, { error: errorToSend(err) });
    }
    // The caller closes the connection once it has read the response.
    await closed;
  };

async function execute(
  databases: Pick<D1Databases, "exchange" | "size" | "delete">,
  call: Call,
  body: Buffer,
  signal: AbortSignal,
): Promise<{ header: Frame["header"]; body?: Buffer }> {
  if (call.op === "exchange")
    return { header: {}, body: await databases.exchange(call.id, call.options, body, signal) };
  if (call.op === "size") return { header: { size: await databases.size(call.id) } };
  // A caller of a newer version may send other operations.
  if (call.op !== "delete") throw d1Errors.elsewhere();
  await databases.delete(call.id);
  return { header: {} };
}

interface SentError {
  kind: keyof typeof d1Errors.table;
  details: Record<string, unknown>;
}

const errorToSend = (err: unknown): SentError =>
  err instanceof UserError && err.domain === "d1"
    ? { kind: err.kind as SentError["kind"], details: err.details }
    : { kind: "reset", details: {} };

/** The primary process may be of a newer version, which has more errors. */
const toError = ({ kind, details }: SentError) => (d1Errors[kind] ?? d1Errors.reset)(details);

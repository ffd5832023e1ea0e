import { chmodSync, closeSync, constants, openSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import {
  PrimaryProcessUnavailable,
  type PrimaryProcess,
  type PrimaryProcessService,
} from "../../kernel/primary-process.ts";
import { messageOf, systemClock, type Log } from "../../kernel/index.ts";

/**
 * The unix socket on which the primary process handles calls of the others. A connection begins with one line of JSON,
 * `{"service": …, "call": …}`, to which the primary process responds with ACCEPTED before it executes anything. So a
 * caller that has not received ACCEPTED can safely repeat the call, for example after the process was killed. During an
 * upgrade, processes of two versions share the socket, so its name never changes.
 */
const SOCKET_NAME = "first.sock";
const ACCEPTED = "\n";
const MAX_LINE_BYTES = 64 * 1024;

/** The limit of unix(7), without the terminating NUL byte. */
const MAX_SOCKET_PATH = 107;
const WAIT_MS = 30_000;
const RETRY_MS = 50;
/** Like the time for which a deploy waits for the calls to the Durable Objects of the previous version. */
const STOP_MS = 5_000;

/** Connects to the primary process, whose socket is in `folder`. */
export function connectToPrimaryProcess(
  folder: string,
  { waitMs = WAIT_MS }: { waitMs?: number } = {},
): PrimaryProcess & { close(): void } {
  const { path, close } = socketIn(folder);
  return {
    async connect(service, call, signal) {
      const line = `${JSON.stringify({ service, call })}\n`;
      const deadline = performance.now() + waitMs;
      for (;;) {
        signal?.throwIfAborted();
        try {
          return await openCall(path, line, Math.max(1, deadline - performance.now()), signal);
        } catch (cause) {
          signal?.throwIfAborted();
          if (performance.now() + RETRY_MS >= deadline) throw new PrimaryProcessUnavailable({ cause });
        }
        await systemClock.sleep(RETRY_MS, signal);
      }
    },
    close,
  };
}

/** Resolves with the connection once the primary process has accepted the call. */
function openCall(path: string, line: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ path });
  const timer = setTimeout(() => fail(new Error("the call was not accepted in time")), timeoutMs);
  const settle = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    socket.off("readable", onReadable).off("error", fail).off("close", onClose);
  };
  function fail(err: unknown) {
    settle();
    socket.on("error", () => {}).destroy();
    reject(err);
  }
  const onAbort = () => fail(signal!.reason);
  const onClose = () => fail(new Error("the connection was closed before the call was accepted"));
  const onReadable = () => {
    if (socket.read(ACCEPTED.length) === null) return;
    settle();
    resolve(socket);
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  socket.on("readable", onReadable).once("error", fail).once("close", onClose).write(line);
  return promise;
}

/**
 * Handles the calls of the other processes. `close` accepts no further calls, which then wait for the next primary process,
 * and waits up to five seconds for those that are running.
 */
export async function listenForCalls(
  folder: string,
  services: Readonly<Record<string, PrimaryProcessService>>,
  { log, stopMs = STOP_MS }: { log: Log; stopMs?: number },
): Promise<{ close(): Promise<void> }> {
  const { path, close: closeFolder } = socketIn(folder);
  const running = new Map<Socket, Promise<void>>();
  const stopping = new AbortController();
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    const run = handleCall(socket).catch((err: unknown) => {
      socket.destroy();
      log.warn({ reason: messageOf(err) }, "serve: failed to handle a call from another process");
    });
    running.set(socket, run);
    void run.finally(() => running.delete(socket));
  });

  async function handleCall(socket: Socket) {
    const line = await readLine(socket);
    if (line === undefined) return;
    const { service: name, call } = JSON.parse(line) as { service: string; call: Record<string, unknown> };
    const service = services[name];
    if (service === undefined) throw new Error(`unknown service ${name}`);
    socket.write(ACCEPTED);
    await service(call, socket, stopping.signal);
  }

  // The data directory is locked, so a socket that exists is that of a process that was killed.
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen({ path }, resolve));
  chmodSync(path, 0o600);
  return {
    async close() {
      server.close();
      stopping.abort();
      await Promise.race([Promise.all(running.values()), systemClock.sleep(stopMs)]);
      for (const socket of running.keys()) socket.destroy();
      await Promise.all(running.values());
      closeFolder();
    },
  };
}

/**
 * Resolves with the first line; with undefined if the connection ends before that. Reads with `readable`, because a
 * stream that was paused would not start to flow for its next reader.
 */
function readLine(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let received = "";
    const settle = () => {
      socket.off("readable", onReadable).off("close", onClose);
    };
    const onClose = () => {
      settle();
      resolve(undefined);
    };
    const onReadable = () => {
      received += (socket.read() as Buffer | null)?.toString("latin1") ?? "";
      if (received.endsWith("\n")) {
        settle();
        // Each byte is one character until here, so that a character is never cut in two.
        resolve(Buffer.from(received, "latin1").toString());
      } else if (received.length > MAX_LINE_BYTES) {
        settle();
        reject(new Error(`a call is longer than ${MAX_LINE_BYTES} bytes`));
      }
    };
    socket.on("readable", onReadable).once("close", onClose);
  });
}

/** Returns a path to the socket that fits into sun_path, however long that of the folder is. Valid until close(). */
function socketIn(folder: string): { path: string; close(): void } {
  const path = join(folder, SOCKET_NAME);
  if (process.platform !== "linux" || Buffer.byteLength(path) <= MAX_SOCKET_PATH) return { path, close() {} };
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${fd}/${SOCKET_NAME}`, close: () => closeSync(fd) };
}

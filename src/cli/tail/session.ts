import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../api/client.ts";
import { hasErrorCode } from "../api/codes.ts";
import { at } from "../api/paths.ts";
import { commandErrors } from "../errors.ts";

export interface TailOptions {
  api: ApiClient;
  /** `/accounts/<id>/workers/scripts/<name>` */
  script: string;
  filters: Record<string, unknown>[];
  /** Ends the tail; the server deletes it. */
  signal: AbortSignal;
  onOpen(): void;
  /** One text frame. */
  onFrame(text: string): void;
  /** Called when the connection is lost; the next attempt follows after this many seconds. */
  onLost(reason: string, seconds: number): void;
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Each attempt creates a new tail, because the server deletes the previous one. */
const RETRY_DELAYS_SECONDS = [1, 2, 4, 8, 16];
/** An idle connection can be lost without notice; sending reveals it. */
const HEARTBEAT_MS = 10_000;
const DELETE_TIMEOUT_MS = 5000;

const HELLO = JSON.stringify({ debug: false });

/**
 * Reads until the signal, or until the server ends the tail. Throws if the connection is lost and five attempts to
 * reconnect fail.
 */
export async function readTail({
  api,
  script,
  filters,
  signal,
  onOpen,
  onFrame,
  onLost,
  pause = (ms, stopSignal) => sleep(ms, undefined, { signal: stopSignal }),
}: TailOptions): Promise<void> {
  let failures = 0;
  for (;;) {
    const reason = await connectOnce().catch((thrown: unknown) => {
      // An error of the first attempt concerns the request; later attempts may reach a server that is still starting.
      if (failures === 0 || hasErrorCode(thrown, 10000, 9109, 10007)) throw thrown;
      return thrown instanceof Error ? thrown.message.split("\n")[0]! : String(thrown);
    });
    if (reason === undefined || signal.aborted) return;
    if (failures === RETRY_DELAYS_SECONDS.length) throw commandErrors.tailLost({ reason });
    const seconds = RETRY_DELAYS_SECONDS[failures++]!;
    onLost(reason, seconds);
    await pause(seconds * 1000, signal).catch(() => {});
    if (signal.aborted) return;
  }

  /** Resolves with the reason why the connection was lost, or with undefined if the tail has ended. */
  async function connectOnce(): Promise<string | undefined> {
    const { id, url } = await api.result<{ id: string; url: string }>("POST", `${script}/tails`, { json: { filters } });
    try {
      return await readSocket(url);
    } finally {
      await api.result("DELETE", `${script}/tails${at`/${id}`}`, { timeoutMs: DELETE_TIMEOUT_MS }).catch(() => {});
    }
  }

  function readSocket(url: string): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const socket = new WebSocket(url, "trace-v1");
    const heartbeat = setInterval(() => {
      if (socket.readyState !== WebSocket.OPEN) return;
      failures = 0;
      socket.send(HELLO);
    }, HEARTBEAT_MS);
    const closeSession = () => {
      socket.close(1000);
      resolve(undefined);
    };
    signal.addEventListener("abort", closeSession, { once: true });
    if (signal.aborted) closeSession();
    socket.addEventListener("open", () => {
      socket.send(HELLO);
      onOpen();
    });
    socket.addEventListener("message", ({ data }) => {
      // Only a connection that delivers data resets the failure count.
      failures = 0;
      if (typeof data === "string") onFrame(data);
      else void (data as Blob).text().then(onFrame, () => {});
    });
    socket.addEventListener("close", ({ code, reason }) =>
      resolve(code === 1000 ? undefined : reason === "" ? `the connection was closed (${code})` : reason),
    );
    return promise.finally(() => {
      clearInterval(heartbeat);
      signal.removeEventListener("abort", closeSession);
    });
  }
}

import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { abortMessage, createMessageReader } from "./rpc-messages.ts";
import type { RpcTunnel } from "../port.ts";

/** Host in CONNECT requests that open an RPC connection on a worker's socket. */
export const RPC_HOST = "reelpost-rpc";

interface TunnelOptions {
  /** The caller's connection. */
  caller: Duplex;
  /** The socket of the called entrypoint. */
  socketPath: string;
  /** True if the caller has no running invocation, so that it cannot be about to send a call. */
  isCallerIdle(): boolean;
  /** Called when the first call begins and when the last one has been answered. */
  onBusy(): void;
  onIdle(): void;
}

/** How long a retired connection stays open without calls, because the caller may hold stubs from earlier calls. */
const QUIET_PERIOD_MS = 2000;
/** After QUIET_MS, this pause without traffic suffices to rule out calls in flight. */
const CLOSE_DELAY_MS = 20;
/** A retired connection is closed after this time even if calls are running. */
const MAX_RETIRED_MS = 30_000;
const MAX_HEAD_BYTES = 8 * 1024;

/** Connects two processes and counts the running calls between them. */
export function openTunnel({ caller, socketPath, isCallerIdle, onBusy, onIdle }: TunnelOptions): RpcTunnel {
  const target = connect(socketPath);
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
  let calls = 0;
  let retiredAt: number | undefined;
  let isEnded = false;
  let quietTimer: NodeJS.Timeout | undefined;
  let retiredTimer: NodeJS.Timeout | undefined;
  let closing: NodeJS.Immediate | undefined;

  const changeCallCount = (delta: 1 | -1) => {
    if (delta === -1 && calls === 0) return;
    calls += delta;
    if (delta === 1 && calls === 1) onBusy();
    if (calls === 0) onIdle();
  };
  const fromCaller = createMessageReader({ call: () => changeCallCount(1), answer() {} });
  const fromTarget = createMessageReader({ call() {}, answer: () => changeCallCount(-1) });

  function close() {
    if (isEnded) return;
    isEnded = true;
    clearTimeout(quietTimer);
    clearImmediate(closing);
    clearTimeout(retiredTimer);
    if (calls > 0) onIdle();
    caller.destroy();
    target.destroy();
    onClosed();
  }
  function closeWhenQuiet() {
    clearTimeout(quietTimer);
    clearImmediate(closing);
    if (retiredAt === undefined || calls > 0 || isEnded) return;
    const delay = performance.now() - retiredAt < QUIET_PERIOD_MS ? QUIET_PERIOD_MS : CLOSE_DELAY_MS;
    // After a blocked event loop, the timer is due before the calls that have arrived meanwhile are read. They cancel
    // the immediate, which runs after them.
    const closeIfIdle = () => (isCallerIdle() ? close() : closeWhenQuiet());
    quietTimer = setTimeout(() => (closing = setImmediate(closeIfIdle)), delay).unref();
  }
  const relay = (from: Duplex, to: Duplex, read: (chunk: Buffer) => void) => {
    from.on("data", (chunk: Buffer) => {
      read(chunk);
      if (!to.write(chunk)) {
        from.pause();
        to.once("drain", () => from.resume());
      }
      closeWhenQuiet();
    });
    from.once("end", close);
  };

  for (const each of [caller, target]) each.on("error", close).once("close", close);
  target.write(`CONNECT ${RPC_HOST} HTTP/1.1\r\nHost: ${RPC_HOST}\r\n\r\n`);
  let head = Buffer.alloc(0);
  target.on("data", function onHead(chunk: Buffer) {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0 && head.length < MAX_HEAD_BYTES) return;
    target.off("data", onHead);
    if (!head.toString("latin1").startsWith("HTTP/1.1 200")) return close();
    relay(target, caller, fromTarget);
    relay(caller, target, fromCaller);
    const rest = head.subarray(end + 4);
    if (rest.length > 0) target.unshift(rest);
  });

  return {
    closed,
    retire() {
      if (retiredAt !== undefined || isEnded) return;
      retiredAt = performance.now();
      retiredTimer = setTimeout(close, MAX_RETIRED_MS).unref();
      closeWhenQuiet();
    },
  };
}

/** Closes a caller's connection with an error with which its calls reject. */
export function rejectTunnel(caller: Duplex, message: string): void {
  caller.on("error", () => caller.destroy());
  // The caller has already sent its first calls, and reads the error only after they have been received.
  caller.resume();
  caller.end(abortMessage(message));
}

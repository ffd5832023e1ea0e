import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { abortMessage, createRpcMessageReader } from "./rpc-messages.ts";
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
  /** True if the called process waits for events and has processed all earlier ones. */
  isTargetAsleep(): boolean;
  /** Maximum milliseconds for which the caller's messages wait after an exception. Default: 250. */
  maxHoldMs?: number;
  /** Called when the first call begins; onIdle() is called when the last one has returned. */
  onBusy(): void;
  onIdle(): void;
}

/** How long a retired connection stays open without calls, because the caller may hold stubs from earlier calls. */
const QUIET_PERIOD_MS = 2000;
/** After QUIET_PERIOD_MS, this pause without traffic suffices to rule out calls in flight. */
const CLOSE_DELAY_MS = 20;
/** A retired connection is closed after this time even if calls are running. */
const MAX_RETIRED_MS = 30_000;
const MAX_HOLD_MS = 250;
/** How often the state of the target is read while the caller's messages wait. */
const HOLD_CHECK_MS = 2;
const MAX_HEAD_BYTES = 8 * 1024;

/** Connects two processes and counts the running calls between them. */
export function openTunnel({
  caller,
  socketPath,
  isCallerIdle,
  isTargetAsleep,
  maxHoldMs = MAX_HOLD_MS,
  onBusy,
  onIdle,
}: TunnelOptions): RpcTunnel {
  const target = connect(socketPath);
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
  let calls = 0;
  let retiredAt: number | undefined;
  let isEnded = false;
  let quietTimer: NodeJS.Timeout | undefined;
  let retiredTimer: NodeJS.Timeout | undefined;
  let closing: NodeJS.Immediate | undefined;
  /** Defined while the caller's messages are held back. */
  let holdTimer: NodeJS.Timeout | undefined;
  let releasing: NodeJS.Immediate | undefined;
  /** Sessions in which a method threw and that the target has not aborted yet. */
  let failing = 0;
  let exceptions = 0;

  const changeCallCount = (delta: 1 | -1) => {
    if (delta === -1 && calls === 0) return;
    calls += delta;
    if (delta === 1 && calls === 1) onBusy();
    if (calls === 0) onIdle();
  };
  const fromCaller = createRpcMessageReader({ call: () => changeCallCount(1) });
  const fromTarget = createRpcMessageReader({
    answer({ isException }) {
      if (isException) {
        failing++;
        exceptions++;
      }
      changeCallCount(-1);
    },
    broken: () => void (failing = Math.max(0, failing - 1)),
  });

  /**
   * Holds back the caller's messages while a session is failing. workerd reports that a method threw only by aborting
   * the session, which it does shortly after it has sent the exception. If the caller releases the session first, the
   * invocation is reported as successful. There is no abort as long as the session has stubs or waitUntil() work left.
   */
  function holdWhileFailing() {
    if (failing === 0) return release();
    if (holdTimer !== undefined || isEnded) return;
    caller.pause();
    const heldUntil = performance.now() + maxHoldMs;
    holdTimer = setInterval(() => {
      if (!isTargetAsleep() && performance.now() < heldUntil) return;
      const seen = exceptions;
      // The target may have sent the abort just before it fell asleep: the immediate runs after it has been read.
      releasing = setImmediate(() => exceptions === seen && release());
    }, HOLD_CHECK_MS).unref();
  }
  function stopHolding() {
    clearInterval(holdTimer);
    clearImmediate(releasing);
    holdTimer = undefined;
  }
  function release() {
    failing = 0;
    if (holdTimer === undefined || isEnded) return;
    stopHolding();
    if (!target.writableNeedDrain) caller.resume();
    closeWhenQuiet();
  }

  function close() {
    if (isEnded) return;
    isEnded = true;
    clearTimeout(quietTimer);
    clearImmediate(closing);
    clearTimeout(retiredTimer);
    stopHolding();
    if (calls > 0) onIdle();
    caller.destroy();
    target.destroy();
    onClosed();
  }
  function closeWhenQuiet() {
    clearTimeout(quietTimer);
    clearImmediate(closing);
    if (retiredAt === undefined || calls > 0 || holdTimer !== undefined || isEnded) return;
    const delay = performance.now() - retiredAt < QUIET_PERIOD_MS ? QUIET_PERIOD_MS : CLOSE_DELAY_MS;
    // If the event loop was blocked, the timer is due before the calls that have arrived meanwhile are read. Those
    // calls cancel the immediate, which runs after them.
    const closeIfIdle = () => (isCallerIdle() ? close() : closeWhenQuiet());
    quietTimer = setTimeout(() => (closing = setImmediate(closeIfIdle)), delay).unref();
  }
  const relay = (from: Duplex, to: Duplex, read: (chunk: Buffer) => void) => {
    from.on("data", (chunk: Buffer) => {
      read(chunk);
      if (from === target) holdWhileFailing();
      if (!to.write(chunk)) {
        from.pause();
        to.once("drain", () => {
          if (from === target || holdTimer === undefined) from.resume();
        });
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

/** Closes a caller's connection with an error that rejects the caller's calls. */
export function rejectTunnel(caller: Duplex, message: string): void {
  caller.on("error", () => caller.destroy());
  // The caller has already sent its first calls, and reads the error only after they have been received.
  caller.resume();
  caller.end(abortMessage(message));
}

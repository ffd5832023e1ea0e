import { Fault } from "../../kernel/index.ts";
import { isStoreError, storeErrors } from "../errors.ts";
import type { PostgresSession } from "./postgres-session.ts";

/** A pool of connections to the primary. */
interface SessionPool {
  /**
   * Resolves with an idle or a new connection. Waits up to `waitMs` while all are in use or the server accepts no
   * further ones, then throws StoreError busy or tooManyConnections. Rethrows errors of `open`.
   */
  acquire(): Promise<PostgresSession>;
  /**
   * Returns a connection to the pool, or closes it if it is broken or `destroy` is true. Call it exactly once for each
   * acquired connection.
   */
  release(session: PostgresSession, destroy?: boolean): void;
  /**
   * Closes all current connections, because their server may have failed; those in use are closed when they are
   * returned.
   */
  renew(): void;
  /** Closes the pool. Resolves when all connections have been returned and closed. */
  end(): Promise<void>;
}

interface Waiter {
  deadline: number;
  timer?: NodeJS.Timeout;
  refusal?: unknown;
  resolve(session: PostgresSession): void;
  reject(err: unknown): void;
}

interface PoolOptions {
  open(): Promise<PostgresSession>;
  max: number;
  /** Maximum time that `acquire` waits. */
  waitMs: number;
  idleMs?: number;
}

/** Delay before the next attempt to connect to a server that has reached its connection limit. */
const REFUSED_PAUSE_MS = 200;

export function createSessionPool({ open, max, waitMs, idleMs = 30_000 }: PoolOptions): SessionPool {
  const idle: { session: PostgresSession; timer: NodeJS.Timeout }[] = [];
  const waiters: Waiter[] = [];
  const generations = new WeakMap<PostgresSession, number>();
  const closings = new Set<Promise<void>>();
  let generation = 0;
  /** Number of connections that are idle, in use, or being opened. */
  let size = 0;
  let retryTimer: NodeJS.Timeout | undefined;
  let ended: PromiseWithResolvers<void> | undefined;

  function discard(session: PostgresSession) {
    size--;
    const closing = session.close().catch(() => {});
    closings.add(closing);
    void closing.then(() => closings.delete(closing));
  }

  function takeIdle(): PostgresSession | undefined {
    const entry = idle.pop();
    clearTimeout(entry?.timer);
    return entry?.session;
  }

  function removeIdle(session: PostgresSession) {
    const at = idle.findIndex((entry) => entry.session === session);
    if (at === -1) return;
    clearTimeout(idle.splice(at, 1)[0]!.timer);
    discard(session);
    serveWaiters();
  }

  function serveWaiters() {
    while (waiters.length > 0) {
      const session = takeIdle();
      if (session === undefined && (size >= max || retryTimer !== undefined)) return;
      const waiter = waiters.shift()!;
      clearTimeout(waiter.timer);
      if (session === undefined) void openFor(waiter);
      else waiter.resolve(session);
    }
  }

  async function openFor(waiter: Waiter) {
    size++;
    const openedIn = generation;
    try {
      const session = await open();
      generations.set(session, openedIn);
      session.onLost(() => removeIdle(session));
      waiter.resolve(session);
    } catch (err) {
      size--;
      if (isStoreError(err, "tooManyConnections")) {
        waiter.refusal = err;
        retryTimer ??= setTimeout(() => {
          retryTimer = undefined;
          serveWaiters();
        }, REFUSED_PAUSE_MS);
        wait(waiter, "first");
      } else {
        waiter.reject(err);
        // With no connection left, all waiting callers would fail for the same reason, one after the other.
        if (size === 0) for (const other of waiters.splice(0)) rejectWaiter(other, err);
        serveWaiters();
      }
      endIfEmpty();
    }
  }

  function wait(waiter: Waiter, position: "first" | "last") {
    const remaining = waiter.deadline - performance.now();
    const giveUp = () =>
      rejectWaiter(
        waiter,
        waiter.refusal ?? storeErrors.busy({ reason: `all ${max} connections were in use for ${waitMs / 1000} s` }),
      );
    if (ended !== undefined) return rejectWaiter(waiter, new Fault("the database is closed"));
    if (remaining <= 0) return giveUp();
    if (position === "first") waiters.unshift(waiter);
    else waiters.push(waiter);
    waiter.timer = setTimeout(() => {
      waiters.splice(waiters.indexOf(waiter), 1);
      giveUp();
    }, remaining);
  }

  function rejectWaiter(waiter: Waiter, err: unknown) {
    clearTimeout(waiter.timer);
    waiter.reject(err);
  }

  function endIfEmpty() {
    if (ended !== undefined && size === 0) void Promise.all(closings).then(() => ended!.resolve());
  }

  return {
    async acquire() {
      if (ended !== undefined) throw new Fault("the database is closed");
      const session = takeIdle();
      if (session !== undefined) return session;
      return new Promise((resolve, reject) => {
        wait({ deadline: performance.now() + waitMs, resolve, reject }, "last");
        serveWaiters();
      });
    },
    release(session, destroy = false) {
      if (destroy || session.isLost || ended !== undefined || generations.get(session) !== generation) discard(session);
      else idle.push({ session, timer: setTimeout(() => removeIdle(session), idleMs) });
      serveWaiters();
      endIfEmpty();
    },
    renew() {
      generation++;
      for (const { session, timer } of idle.splice(0)) {
        clearTimeout(timer);
        discard(session);
      }
      serveWaiters();
    },
    async end() {
      if (ended === undefined) {
        ended = Promise.withResolvers();
        clearTimeout(retryTimer);
        for (const waiter of waiters.splice(0)) rejectWaiter(waiter, new Fault("the database is closed"));
        for (const { session, timer } of idle.splice(0)) {
          clearTimeout(timer);
          discard(session);
        }
        endIfEmpty();
      }
      return ended.promise;
    },
  };
}

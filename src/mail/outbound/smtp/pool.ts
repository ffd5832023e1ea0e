import { openSession, type DeliverySession, type SessionOptions, type SessionTarget } from "./session.ts";

export interface Pool {
  /**
   * Returns an idle session or a new one. `reused` is true for an idle one, whose connection may have died unnoticed.
   * Rejects with SessionFailure.
   */
  acquire(target: SessionTarget, signal: AbortSignal): Promise<{ session: DeliverySession; reused: boolean }>;
  /** Keeps the session for the next message, unless it has reached its message limit. */
  release(session: DeliverySession): void;
  close(): void;
}

interface PoolOptions extends SessionOptions {
  /** Maximum number of messages per connection. */
  messagesPerConnection: number;
  idleMs: number;
  /** Maximum number of idle connections over all hosts. */
  maxIdle: number;
}

export function createPool(options: PoolOptions): Pool {
  const idle = new Map<string, { session: DeliverySession; timer: NodeJS.Timeout }[]>();
  let count = 0;
  let closed = false;

  function takeIdle(key: string): DeliverySession | undefined {
    const idleSessions = idle.get(key);
    for (let entry = idleSessions?.pop(); entry !== undefined; entry = idleSessions?.pop()) {
      clearTimeout(entry.timer);
      count--;
      if (idleSessions!.length === 0) idle.delete(key);
      if (entry.session.isUsable()) return entry.session;
      entry.session.destroy();
    }
    return undefined;
  }

  function retire(key: string, session: DeliverySession) {
    const idleSessions = idle.get(key) ?? [];
    const at = idleSessions.findIndex((entry) => entry.session === session);
    if (at === -1) return;
    clearTimeout(idleSessions.splice(at, 1)[0]!.timer);
    count--;
    if (idleSessions.length === 0) idle.delete(key);
    session.quit();
  }

  return {
    async acquire(target, signal) {
      const session = takeIdle(keyOf(target));
      return session
        ? { session, reused: true }
        : { session: await openSession(target, options, signal), reused: false };
    },
    release(session) {
      if (!session.isUsable()) return session.destroy();
      if (closed || session.sentCount() >= options.messagesPerConnection || count >= options.maxIdle)
        return session.quit();
      const key = keyOf(session.target);
      const timer = setTimeout(() => retire(key, session), options.idleMs).unref();
      idle.set(key, [...(idle.get(key) ?? []), { session, timer }]);
      count++;
    },
    close() {
      closed = true;
      for (const { session } of [...idle.values()].flat()) retire(keyOf(session.target), session);
    },
  };
}

/** Connections are shared only between identical targets; in particular, the TLS policy must be the same. */
const keyOf = ({ host, address, port, implicitTls, auth, policy }: SessionTarget): string =>
  JSON.stringify([
    host,
    address,
    port,
    implicitTls ?? false,
    auth?.user ?? "",
    policy.level,
    policy.verify !== undefined,
  ]);

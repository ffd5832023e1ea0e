import { randomUUID } from "node:crypto";
import { type Clock, type Log, messageOf } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import { parsePostgresUrl } from "../db/postgres-address.ts";
import { fromPostgres } from "../db/postgres-errors.ts";
import { createPrimaryConnector, type PostgresSession } from "../db/postgres-session.ts";
import type { Events } from "./port.ts";
import { checkNotification, createSubscriptions } from "./subscriptions.ts";

const CHANNEL = "reelpost";
const MAX_UNSENT = 10_000;
const RECONNECT_MS = { first: 50, longest: 5_000 };
/** Interval of the heartbeat, and time limit for its arrival. */
const HEARTBEAT_MS = 10_000;
/** Topic of the heartbeat, a notification that a connection sends to itself. Subscribers do not receive it. */
const HEARTBEAT_TOPIC = "events.heartbeat";

/**
 * Events between all processes that share a PostgreSQL database: NOTIFY, and one listening connection that reconnects.
 * A heartbeat, which it sends to itself, detects a standby or a pooler in transaction mode: neither delivers
 * notifications.
 */
export async function openPostgresEvents({
  url,
  clock,
  log,
}: {
  url: string;
  clock: Clock;
  log: Log;
}): Promise<Events> {
  const postgres = parsePostgresUrl(url);
  const address = postgres.label;
  const primary = createPrimaryConnector(postgres);
  const subscriptions = createSubscriptions(log);
  const closing = new AbortController();
  const unsentEvents: string[] = [];
  let sending: Promise<void> | undefined;
  let session = await connect();
  const upkeep = stayConnected();

  async function connect(): Promise<PostgresSession> {
    const next = await primary.connect({ name: "reelpost events", timeoutMs: HEARTBEAT_MS });
    next.client.on("notification", ({ payload = "" }) => {
      const [topic, id] = payload.split(" ");
      if (topic && id && topic !== HEARTBEAT_TOPIC) subscriptions.deliver(topic, id);
    });
    try {
      await next.query(`listen ${CHANNEL}`);
      await expectDelivery(next);
      return next;
    } catch (err) {
      await next.close();
      throw fromPostgres(err, address);
    }
  }

  /** Rejects if this connection does not receive its own notification. */
  async function expectDelivery(current: PostgresSession): Promise<void> {
    const hint = `${HEARTBEAT_TOPIC} ${randomUUID()}`;
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<boolean>();
    const onNotification = ({ payload = "" }) => payload === hint && arrive(true);
    const timer = setTimeout(arrive, HEARTBEAT_MS, false);
    current.client.on("notification", onNotification);
    current.onLost(() => arrive(false));
    try {
      await current.query("select pg_notify($1, $2)", [CHANNEL, hint]);
      if (!(await arrived))
        throw storeErrors.unreachable({
          address,
          reason: "notifications do not arrive; a pooler must use session mode (pool_mode = session)",
        });
    } finally {
      clearTimeout(timer);
      current.client.off("notification", onNotification);
    }
  }

  /** Maintains the connection until `close`, and replaces it when it is lost. */
  async function stayConnected() {
    while (!closing.signal.aborted) {
      await waitUntilLost(session);
      if (closing.signal.aborted) break;
      log.warn({ address }, "events: connection lost, reconnecting");
      void session.close().catch(() => {});
      for (let wait = RECONNECT_MS.first; !closing.signal.aborted; wait = Math.min(wait * 2, RECONNECT_MS.longest)) {
        try {
          await clock.sleep(wait, closing.signal);
          session = await connect();
          subscriptions.notifyPossibleLoss();
          void send();
          break;
        } catch (err) {
          log.debug({ address, reason: messageOf(err) }, "events: failed to reconnect, will retry");
        }
      }
    }
    // Also closes a connection established during close: an open connection keeps a process alive.
    await session.close().catch(() => {});
  }

  /** Resolves when the connection is lost: closed, broken, or silent for too long. */
  async function waitUntilLost(current: PostgresSession): Promise<void> {
    const lostController = new AbortController();
    current.onLost(() => lostController.abort());
    const signal = AbortSignal.any([lostController.signal, closing.signal]);
    try {
      for (;;) {
        await clock.sleep(HEARTBEAT_MS, signal);
        await expectDelivery(current);
      }
    } catch {
      // The sleep was aborted: the connection was lost, close() was called, or the heartbeat did not arrive.
    }
  }

  function send(): Promise<void> {
    if (unsentEvents.length === 0) return Promise.resolve();
    return (sending ??= sendAll());
  }

  async function sendAll() {
    try {
      while (unsentEvents.length > 0) {
        const eventHints = unsentEvents.slice(0, 500);
        const sendingSession = session;
        try {
          await sendingSession.query(`select pg_notify('${CHANNEL}', hint) from unnest($1::text[]) as hint`, [
            eventHints,
          ]);
          unsentEvents.splice(0, eventHints.length);
        } catch {
          // Retained for the next connection: other processes do not know that they missed the notifications. This loop
          // uses a connection established meanwhile; a later one calls `send`.
          if (session === sendingSession) return;
        }
      }
    } finally {
      sending = undefined;
    }
  }

  return {
    publish(topic, id) {
      checkNotification(topic, id);
      if (closing.signal.aborted || unsentEvents.length >= MAX_UNSENT) return;
      unsentEvents.push(`${topic} ${id}`);
      // One statement for everything published in this tick.
      if (!sending) queueMicrotask(() => void send());
    },
    subscribe: subscriptions.add,
    async close() {
      await send();
      closing.abort();
      subscriptions.clear();
      await upkeep;
    },
  };
}

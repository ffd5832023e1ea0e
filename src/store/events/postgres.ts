import { Client } from "pg";
import { type Clock, type Log, messageOf } from "../../kernel/index.ts";
import { connectionAddress, fromPostgres } from "../db/postgres-connection.ts";
import type { Events } from "./port.ts";
import { checkHint, createSubscriptions } from "./subscriptions.ts";

const CHANNEL = "reelpost";
const MAX_UNSENT = 10_000;
const RECONNECT_MS = { first: 50, longest: 5_000 };
const HEARTBEAT_MS = 30_000;

/** Events between all processes on one PostgreSQL database: NOTIFY, and one listening connection that reconnects. */
export async function openPostgresEvents({
  url,
  clock,
  log,
}: {
  url: string;
  clock: Clock;
  log: Log;
}): Promise<Events> {
  const address = connectionAddress(url);
  const subscriptions = createSubscriptions(log);
  const closing = new AbortController();
  const unsentEvents: string[] = [];
  let sending: Promise<void> | undefined;
  let client = await connect();
  const upkeep = stayConnected();

  async function connect(): Promise<Client> {
    const next = new Client({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: 10_000,
      query_timeout: 10_000,
      application_name: "reelpost events",
    });
    // Without a listener for errors, a lost connection would end the process; `waitUntilLost` below detects it.
    next.on("error", () => {});
    next.on("notification", ({ payload = "" }) => {
      const [topic, id] = payload.split(" ");
      if (topic && id) subscriptions.deliver(topic, id);
    });
    try {
      await next.connect();
      await next.query(`listen ${CHANNEL}`);
      return next;
    } catch (err) {
      await next.end().catch(() => {});
      throw fromPostgres(err, address);
    }
  }

  /** Maintains the connection until `close`, and replaces it when it is lost. */
  async function stayConnected() {
    while (!closing.signal.aborted) {
      await waitUntilLost(client);
      if (closing.signal.aborted) break;
      log.warn({ address }, "events: connection lost, reconnecting");
      void client.end().catch(() => {});
      for (let wait = RECONNECT_MS.first; !closing.signal.aborted; wait = Math.min(wait * 2, RECONNECT_MS.longest)) {
        try {
          await clock.sleep(wait, closing.signal);
          client = await connect();
          subscriptions.notifyPossibleLoss();
          void send();
          break;
        } catch (err) {
          log.debug({ address, reason: messageOf(err) }, "events: failed to reconnect, will retry");
        }
      }
    }
    // Also closes a connection established during close: an open connection keeps a process alive.
    await client.end().catch(() => {});
  }

  /** Resolves when the connection is lost: closed, broken, or silent for too long. */
  async function waitUntilLost(current: Client): Promise<void> {
    const lostController = new AbortController();
    const onGone = () => lostController.abort();
    current.once("end", onGone).once("error", onGone);
    const signal = AbortSignal.any([lostController.signal, closing.signal]);
    try {
      for (;;) {
        await clock.sleep(HEARTBEAT_MS, signal);
        await current.query("select 1");
      }
    } catch {
      // The sleep ended because the connection was lost, close was called, or the heartbeat was unanswered.
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
        const sendingClient = client;
        try {
          await sendingClient.query(`select pg_notify('${CHANNEL}', hint) from unnest($1::text[]) as hint`, [
            eventHints,
          ]);
          unsentEvents.splice(0, eventHints.length);
        } catch {
          // Retained for the next connection: other processes do not know that they missed the notifications. This loop
          // uses a connection established meanwhile; a later one calls `send`.
          if (client === sendingClient) return;
        }
      }
    } finally {
      sending = undefined;
    }
  }

  return {
    publish(topic, id) {
      checkHint(topic, id);
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

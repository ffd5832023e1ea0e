import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Caller } from "../../accounts/index.ts";
import type { Clock } from "../../kernel/index.ts";
import { apiErrors } from "../errors.ts";
import type { LiveChange, LiveEvents } from "../live-events.ts";
import { isLiveTopic, LIVE_TOPICS, mayReceive, type LiveTopic } from "../live-topics.ts";
import { route, type Call, type Route } from "../operation.ts";
import { liveEventsOperation } from "./live-events-operation.ts";

interface EventsDeps {
  live: Pick<LiveEvents, "subscribe">;
  /**
   * Authenticates the caller of a running request again. Resolves with undefined if its credentials are no longer
   * valid.
   */
  authenticateAgain(call: Call): Promise<Caller | undefined>;
  clock: Pick<Clock, "now">;
  limits?: Partial<EventLimits>;
}

interface EventLimits {
  /** Connections of one account to this process. Default 100. */
  clientsPerAccount: number;
  /** Connections to this process. Default 1000. */
  clients: number;
  /** Changes that wait for a client; if there are more, it gets a `resync` event. Default 200. */
  waiting: number;
  /** Milliseconds for which changes are collected before they are sent. Default 200. */
  collectMs: number;
  /** Milliseconds between comments that keep the connection open. Default 15,000. */
  heartbeatMs: number;
  /** Milliseconds after which the server closes a connection; the client connects again. Default one hour. */
  lifetimeMs: number;
}

const DEFAULT_LIMITS: EventLimits = {
  clientsPerAccount: 100,
  clients: 1000,
  waiting: 200,
  collectMs: 200,
  heartbeatMs: 15_000,
  lifetimeMs: 3_600_000,
};
/** How soon a client connects again after a lost connection. */
const RECONNECT_MS = 2000;

/**
 * Changes of an account's resources as Server-Sent Events. An event names a resource and carries no data: the client
 * reads the resource again. Returns the routes, and a function that ends all connections.
 */
export function eventRoutes({ live, authenticateAgain, clock, limits: overrides }: EventsDeps): {
  routes: Route[];
  close(): void;
} {
  const limits = { ...DEFAULT_LIMITS, ...overrides };
  const clients = new Map<string, number>();
  const open = new Set<() => void>();
  let isClosed = false;

  function serve(call: Call, topics: readonly LiveTopic[]): Response {
    const { outgoing } = call.node;
    const account = call.params.account_id!;
    let { caller } = call;
    /** Changes by topic and id, so that repeated changes are sent once. */
    const waiting = new Map<string, LiveChange>();
    let mustReadAgain = false;
    let sending: NodeJS.Timeout | undefined;

    const allows = ({ topic, zone }: LiveChange) =>
      topics.includes(topic) && mayReceive(caller, topic, zone === undefined ? { account } : { account, zone });

    function send() {
      sending = undefined;
      // A slow client gets nothing until it has read what was sent; meanwhile changes collect, up to the limit.
      if (outgoing.writableNeedDrain || outgoing.writableEnded) return;
      if (mustReadAgain) outgoing.write("event: resync\ndata: {}\n\n");
      else
        outgoing.write(
          Array.from(
            waiting.values(),
            ({ topic, id, zone }) =>
              `event: change\ndata: ${JSON.stringify({ topic, id, ...(zone !== undefined && { zone_id: zone }) })}\n\n`,
          ).join(""),
        );
      mustReadAgain = false;
      waiting.clear();
    }

    function collect(change: LiveChange | undefined) {
      if (change !== undefined && !allows(change)) return;
      if (change === undefined || waiting.size >= limits.waiting) {
        mustReadAgain = true;
        waiting.clear();
      } else if (!mustReadAgain) waiting.set(`${change.topic}:${change.id}`, change);
      if (!outgoing.writableNeedDrain) sending ??= setTimeout(send, limits.collectMs).unref();
    }

    const closeAt = clock.now() + limits.lifetimeMs;
    let isChecking = false;
    async function beat() {
      if (clock.now() >= closeAt) return end();
      // A client that reads nothing is not checked: it counts as connected only until its socket is closed.
      if (isChecking || outgoing.writableNeedDrain) return;
      isChecking = true;
      try {
        const now = await authenticateAgain(call);
        if (now === undefined || !topics.some((topic) => mayReceive(now, topic, { account }))) return end();
        caller = now;
        if (!outgoing.writableEnded) outgoing.write(": keep-alive\n\n");
      } catch {
        end();
      } finally {
        isChecking = false;
      }
    }

    outgoing.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      // Reverse proxies must not buffer the response.
      "x-accel-buffering": "no",
      "access-control-allow-origin": "*",
      "x-request-id": call.id,
    });
    outgoing.write(`retry: ${RECONNECT_MS}\nevent: open\ndata: ${JSON.stringify({ topics })}\n\n`);
    const unsubscribe = live.subscribe(account, collect);
    const heartbeat = setInterval(() => void beat(), limits.heartbeatMs).unref();
    clients.set(account, (clients.get(account) ?? 0) + 1);
    const end = () => void outgoing.end();
    open.add(end);
    outgoing.on("drain", () => {
      if (waiting.size > 0 || mustReadAgain) sending ??= setTimeout(send, limits.collectMs).unref();
    });
    outgoing.once("close", () => {
      unsubscribe();
      clearInterval(heartbeat);
      clearTimeout(sending);
      open.delete(end);
      const left = clients.get(account)! - 1;
      if (left === 0) clients.delete(account);
      else clients.set(account, left);
    });
    return RESPONSE_ALREADY_SENT;
  }

  return {
    routes: [
      route(liveEventsOperation(LIVE_TOPICS), async (call) => {
        const account = call.params.account_id!;
        const requested = call.query.topics ?? LIVE_TOPICS;
        const topics = requested.filter((topic) => isLiveTopic(topic) && mayReceive(call.caller, topic, { account }));
        if (topics.length === 0)
          throw apiErrors.notAllowed({ permission: `a Read permission for ${requested.join(", ")}` });
        if (isClosed || open.size >= limits.clients) throw apiErrors.tooManyListeners({ limit: limits.clients });
        if ((clients.get(account) ?? 0) >= limits.clientsPerAccount)
          throw apiErrors.tooManyListeners({ limit: limits.clientsPerAccount });
        return serve(call, topics);
      }),
    ],
    close() {
      isClosed = true;
      for (const end of Array.from(open)) end();
    },
  };
}

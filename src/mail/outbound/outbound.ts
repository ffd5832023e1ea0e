import type { Clock, Ids, Log } from "../../kernel/index.ts";
import { noPeers, type Peers } from "../../kernel/peers.ts";
import type { Tracing } from "../../kernel/tracing.ts";
import {
  createGroupCommitter,
  localSweeps,
  type Db,
  type Events,
  type ObjectStore,
  type Sweeps,
} from "../../store/index.ts";
import { smtpErrorOf, replyOf } from "../errors.ts";
import {
  MAX_MESSAGE_BYTES,
  type Outbound,
  type DeliveryResult,
  type Trace,
  type Transport,
} from "../messages/index.ts";
import { createBackoff, DEFAULT_BACKOFF_MS, DEFAULT_LIFETIME_MS } from "./queue/backoff.ts";
import { createBodies } from "./queue/bodies.ts";
import { createClaimsTable } from "./queue/claims-table.ts";
import { createBreakerEvents } from "./queue/breaker-events.ts";
import { createHousekeeping } from "./queue/housekeeping.ts";
import { createQueue, type OutboundQueue } from "./queue/queue.ts";
import { createPausesTable } from "./queue/pauses-table.ts";
import { createQueueTable } from "./queue/queue-table.ts";
import { startRunner, type Runner } from "./queue/runner.ts";
import { createResultRecorder, type DeliveryFailure } from "./queue/result-recorder.ts";
import { createSharedPauses } from "./queue/shared-pauses.ts";
import { createRelay, resultsWithRejections, deliveryResults } from "./relay.ts";
import { createBreaker } from "./smtp/breaker.ts";
import { createDeliveryAgent, type DeliveryAgentOptions } from "./smtp/delivery-agent.ts";
import { traceAgent } from "./trace-agent.ts";
import type { DeliveryAgent, RecipientResult } from "./types.ts";

export interface OutboundOptions extends Omit<DeliveryAgentOptions, "clock" | "log"> {
  db: Db;
  objects: ObjectStore;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  trace: Trace;
  /** Notifies the runners of other processes; without it they poll every `pollMs`. */
  events?: Events;
  /** Default: this process performs the periodic work on the queue. */
  sweeps?: Pick<Sweeps, "run">;
  /** The processes that deliver, which share the limits per destination. Default: only this one. */
  peers?: Peers;
  limits?: Partial<OutboundLimits>;
  /** Replaces SMTP delivery. */
  agent?: DeliveryAgent;
  /** Records delivery attempts. Absent unless traces are enabled. */
  tracing?: Tracing | undefined;
}

export interface OutboundLimits {
  /** Maximum number of queued recipients. When it has been reached, mail is deferred (452). */
  maxQueued: number;
  messageBytes: number;
  /** Maximum number of concurrent messages. */
  maxConcurrent: number;
  /**
   * Maximum number of concurrent messages to one destination; a smart host is one destination. Default: 5, or 20 to a
   * smart host.
   */
  perDestination: number | undefined;
  /** Messages started per minute to one destination. Default: no limit. */
  perMinute: number | undefined;
  /** Delay after each attempt; the last one repeats until the lifetime ends. */
  backoffMs: readonly number[];
  lifetimeMs: number;
  /** How long the content of messages is kept after all recipients are done: delivered to all, or failed for some. */
  keepMs: { delivered: number; failed: number };
  /** How long the record of a message is kept. */
  recordRetentionMs: number;
  leaseMs: number;
  pollMs: number;
  /** Timeout of relay(), and how long relayThenQueue() tries to deliver before it queues. */
  relayMs: number;
  tryFirstMs: number;
  maxConcurrentRelays: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const DEFAULT_OUTBOUND_LIMITS: OutboundLimits = {
  maxQueued: 1_000_000,
  messageBytes: MAX_MESSAGE_BYTES + 256 * 1024,
  maxConcurrent: 50,
  perDestination: undefined,
  perMinute: undefined,
  backoffMs: DEFAULT_BACKOFF_MS,
  lifetimeMs: DEFAULT_LIFETIME_MS,
  keepMs: { delivered: 0, failed: 7 * DAY_MS },
  recordRetentionMs: 31 * DAY_MS,
  leaseMs: MINUTE_MS,
  pollMs: 1000,
  relayMs: MINUTE_MS,
  tryFirstMs: MINUTE_MS / 3,
  maxConcurrentRelays: 100,
};

type FailureListener = (failure: DeliveryFailure) => Promise<void> | void;

/** Outbound mail: the queue, the deliveries, and three ways to submit a message. */
export interface OutboundService extends OutboundQueue {
  /** Delivers while the caller waits and returns the replies of the next hops. Stores nothing. */
  readonly relay: Transport;
  /** Resolves when the message is on disk; delivery happens later. */
  readonly queue: Transport;
  /**
   * Tries to deliver while the caller waits. Permanent rejections are returned to the caller, deferred recipients are
   * queued.
   */
  readonly relayThenQueue: Transport;
  /**
   * Registers a listener for recipients whose delivery failed. The listener decides whether the sender may get a report
   * (null sender, NOTIFY=NEVER, an unauthenticated sender). If one rejects, all are called again later.
   */
  onFailed(listener: FailureListener): void;
  /** Starts delivering queued mail in this process. Until it is called, the process only accepts mail. */
  start(): void;
  /**
   * Resolves with the number of queued recipients, counted up to the maximum of the queue and cached for a few seconds.
   */
  countQueued(): Promise<number>;
  /** Destinations and hosts that this process has paused after failures. */
  paused(): { name: string; until: Date; why: string }[];
  /** Destinations with queued mail of `account` that are paused in any process. */
  pausesOf(account: string): Promise<{ destination: string; until: Date; why: string }[]>;
  /** Resumes paused destinations in every process. */
  resume(destinations: string[]): void;
  /** Starts no new deliveries, waits for those in progress, and aborts them after `graceMs` (default 10 s). */
  stop(options?: { graceMs?: number }): Promise<void>;
}

const TOPIC = "mail.outbound";
const RESUME_TOPIC = "mail.outbound.resume";
// No domain begins with an asterisk.
const SMART_HOST = "*smart-host";
const COUNT_TTL_MS = 10_000;
/** A count is reused for this multiple of the time it took: it reads up to a million index entries. */
const COUNT_REUSE_FACTOR = 100;

export function createOutbound(options: OutboundOptions): OutboundService {
  const { db, objects, clock, ids, log, trace, events } = options;
  const limits: OutboundLimits = { ...DEFAULT_OUTBOUND_LIMITS, ...options.limits };
  const commits = createGroupCommitter(db);
  const pauses = createPausesTable(db, commits);
  const sharedPauses = createSharedPauses({
    table: pauses,
    events: createBreakerEvents(events, ids.hex().slice(0, 8)),
    clock,
    log,
  });
  const smtp = createDeliveryAgent({ ...options, ...sharedPauses.breakerOptions("host") });
  const agent = traceAgent(options.agent ?? smtp, options.tracing);
  const claims = createClaimsTable(db, commits);
  const table = createQueueTable(db, commits);
  const bodies = createBodies({ objects, small: table.body, maxBytes: limits.messageBytes });
  const backoff = createBackoff(limits.backoffMs);
  const breaker = createBreaker({
    clock,
    failureThreshold: 3,
    minMs: MINUTE_MS,
    maxMs: 30 * MINUTE_MS,
    ...sharedPauses.breakerOptions("destination"),
  });
  const breakers = { host: smtp.breaker, destination: breaker };
  const failureListeners: FailureListener[] = [];
  const recorder = createResultRecorder({
    table: claims,
    queue: table,
    bodies,
    clock,
    log,
    trace,
    backoff,
    keepMs: limits.keepMs,
    onFailed: async (failure) => void (await Promise.all(failureListeners.map((listener) => listener(failure)))),
  });
  const relay = createRelay({ agent, clock, trace, maxConcurrent: limits.maxConcurrentRelays });
  let runner: Runner | undefined;
  let unsubscribe = () => {};
  let stopped: Promise<void> | undefined;

  let cachedCount = { until: -Infinity, waiting: 0 };
  async function countQueued() {
    if (clock.now() > cachedCount.until) {
      const started = performance.now();
      const waiting = await table.waiting(limits.maxQueued);
      const reuseMs = Math.max(COUNT_TTL_MS, COUNT_REUSE_FACTOR * (performance.now() - started));
      cachedCount = { until: clock.now() + reuseMs, waiting };
    }
    return cachedCount.waiting;
  }

  async function isFull() {
    const found = await countQueued();
    return found >= limits.maxQueued ? { waiting: found, limit: limits.maxQueued } : undefined;
  }

  function notifyRunners(destinations: string[]) {
    runner?.wake(destinations);
    // The event channel does not support such a name; the other processes find the mail when they poll.
    for (const destination of destinations)
      if (events && /^[!-~]{1,200}$/.test(destination)) events.publish(TOPIC, destination);
  }

  /** Returns the hosts to resume. The runner starts even if that fails. */
  async function resumeLocally(destination: string) {
    breaker.resume(destination);
    await agent.resume(destination === SMART_HOST ? "" : destination);
    runner?.wake([destination]);
  }

  function resume(destinations: string[]) {
    for (const destination of destinations) {
      void resumeLocally(destination);
      if (events && /^[!-~]{1,200}$/.test(destination)) events.publish(RESUME_TOPIC, destination);
    }
  }

  const queue = createQueue({
    table,
    bodies,
    clock,
    ids,
    trace,
    notifyRunners,
    pauses,
    resume,
    isFull,
    insert: table.insert,
    backoff,
    lifetimeMs: limits.lifetimeMs,
    destinationOf: (domain) => (agent.toSmartHost ? SMART_HOST : domain),
    markFinished: recorder.finish,
  });

  /** Queues a message. An internal error is temporary for all recipients, and a message is never partly queued. */
  async function enqueue(mail: Outbound, replies?: ReadonlyMap<string, RecipientResult>): Promise<DeliveryResult[]> {
    try {
      const { rejected } = await queue.enqueue(mail, replies ? { replies } : {});
      return resultsWithRejections(mail.to, rejected).map((result) =>
        result.ok ? { ...result, queued: true } : result,
      );
    } catch (err) {
      const refusal = smtpErrorOf(err);
      if (refusal.kind === "fault") log.error({ err }, "outbound: failed to queue a message");
      const reply = replyOf(refusal);
      return mail.to.map((rcpt) => ({ rcpt, ok: false, temporary: reply.code < 500, reply }));
    }
  }

  async function relayThenQueue(mail: Outbound, signal?: AbortSignal): Promise<DeliveryResult[]> {
    const results = await relay(mail, { budgetMs: limits.tryFirstMs, ...(signal && { signal }) });
    const temporaryReplies = new Map(
      results.filter(({ outcome }) => outcome === "temporary").map((result) => [result.rcpt, result]),
    );
    const settledResults = deliveryResults(mail.to, results);
    const waitingRecipients = settledResults.filter((result) => !result.ok && result.temporary).map(({ rcpt }) => rcpt);
    if (waitingRecipients.length === 0) return settledResults;
    const queuedResults = new Map(
      (await enqueue({ ...mail, to: waitingRecipients }, temporaryReplies)).map((result) => [result.rcpt, result]),
    );
    return settledResults.map((result) => queuedResults.get(result.rcpt) ?? result);
  }

  return {
    ...queue,
    onFailed: (listener) => void failureListeners.push(listener),
    relay: {
      deliver: async (mail, signal) =>
        deliveryResults(mail.to, await relay(mail, { budgetMs: limits.relayMs, ...(signal && { signal }) })),
    },
    queue: { deliver: (mail) => enqueue(mail) },
    relayThenQueue: { deliver: relayThenQueue },
    start() {
      if (stopped) return;
      const restoration = sharedPauses.restore(breakers);
      runner ??= startRunner({
        table: claims,
        ready: restoration,
        bodies,
        agent,
        recorder,
        breaker,
        peers: () => (options.peers ?? noPeers)("outbound"),
        clock,
        ids,
        log,
        leaseMs: limits.leaseMs,
        pollMs: limits.pollMs,
        limits: {
          maxConcurrent: limits.maxConcurrent,
          perDestination: limits.perDestination ?? (agent.toSmartHost ? 20 : 5),
          ...(limits.perMinute !== undefined && { perMinute: limits.perMinute }),
        },
        housekeeping: createHousekeeping({
          table: claims,
          queue: table,
          sweeps: options.sweeps ?? localSweeps,
          bodies,
          recorder,
          clock,
          log,
          leaseMs: limits.leaseMs,
          rowsMs: limits.recordRetentionMs,
          recovered: (found) => runner?.wake(found),
          deleteExpiredPauses: () => pauses.forget(clock.now()),
        }),
      });
      const subscriptions = [
        sharedPauses.follow(breakers, (destination) => runner?.wake([destination])),
        events?.subscribe(TOPIC, (destination) => void (destination !== "" && runner?.wake([destination]))),
        events?.subscribe(RESUME_TOPIC, (destination) => void (destination !== "" && resumeLocally(destination))),
      ];
      unsubscribe = () => {
        for (const end of subscriptions) end?.();
      };
    },
    countQueued,
    paused: () =>
      [...breaker.list(), ...smtp.breaker.list()].map(({ key, until, why }) => ({
        name: key,
        until: new Date(until),
        why,
      })),
    async pausesOf(account) {
      const destinations = await table.destinationsOf(account);
      return (await pauses.active(clock.now(), destinations)).map(({ name: destination, until, why }) => ({
        destination,
        until: new Date(until),
        why,
      }));
    },
    resume,
    stop: (stopOptions) => (stopped ??= stop(stopOptions)),
  };

  async function stop(stopOptions?: { graceMs?: number }) {
    unsubscribe();
    await runner?.stop(stopOptions);
    await recorder.idle();
    agent.close();
    if (agent !== smtp) smtp.close();
  }
}

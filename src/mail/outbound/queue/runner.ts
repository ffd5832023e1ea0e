import { messageOf, type Clock, type Ids, type Log } from "../../../kernel/index.ts";
import type { Breaker } from "../smtp/breaker.ts";
import { reply } from "../smtp/replies.ts";
import type { ReplayableBody, DeliveryAgent, DeliveryRequest, EnvelopeRecipient, RecipientResult } from "../types.ts";
import type { Bodies } from "./bodies.ts";
import type { ClaimsTable } from "./claims-table.ts";
import { createDestinations, type DestinationLimits } from "./destinations.ts";
import { createLeases, type ActiveLease } from "./leases.ts";
import type { MessageRow, RecipientRow } from "./migrations.ts";
import type { ResultRecorder } from "./settle.ts";

interface RunnerDeps {
  table: ClaimsTable;
  /** Deliveries start after this promise resolves. */
  ready?: Promise<void>;
  bodies: Bodies;
  agent: DeliveryAgent;
  recorder: ResultRecorder;
  housekeeping: { run(): Promise<void> };
  breaker: Breaker;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  limits: DestinationLimits;
  leaseMs: number;
  pollMs: number;
}

export interface Runner {
  /** Notifies the runner that these destinations may have due messages. */
  wake(destinations: string[]): void;
  /** Starts no new messages, waits for those in progress, and aborts the rest after `graceMs`. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

/** Maximum number of messages per claim, and of recipients per message per destination. */
const CLAIM = 10;
const MAX_RECIPIENTS = 100;
/** Small messages are read into memory; larger ones are streamed. */
const IN_MEMORY = 256 * 1024;
const PAGE = 200;
const PAGES_AT_ONCE = 10;
const MAX_CANDIDATES = 5000;

/** Delivers queued messages. Any number of runners share a queue. */
export function startRunner(parts: RunnerDeps): Runner {
  const { table, bodies, agent, recorder, housekeeping, clock, ids, log, leaseMs, pollMs } = parts;
  const stopping = new AbortController();
  const over = new AbortController();
  const destinations = createDestinations({ clock, breaker: parts.breaker, limits: parts.limits });
  const leases = createLeases({ table, clock, log, leaseMs, stopSignal: over.signal });
  /** Destinations with work, in order of service. */
  const candidates = new Set<string>();
  const lanes = new Set<Promise<void>>();
  let cursor = "";
  let wakeUp = () => {};
  let rung = false;
  let lastScan = -Infinity;
  let stopped: Promise<void> | undefined;

  function ring() {
    rung = true;
    wakeUp();
  }

  function add(destination: string) {
    if (candidates.size < MAX_CANDIDATES) candidates.add(destination);
  }

  async function loop() {
    await parts.ready;
    while (!stopping.signal.aborted) {
      try {
        if (clock.now() - lastScan >= pollMs) {
          lastScan = clock.now();
          await housekeeping.run();
          await scan();
        }
        startLanes();
      } catch (err) {
        log.warn({ err }, `outbound: failed to read the queue, will retry: ${messageOf(err)}`);
      }
      await rest();
    }
  }

  /** Continues where the last scan ended, so that every destination is reached regardless of their number. */
  async function scan() {
    for (let page = 0; page < PAGES_AT_ONCE && candidates.size < MAX_CANDIDATES; page++) {
      const found = await table.destinations(cursor, PAGE);
      for (const { destination, due } of found) if (due <= clock.now()) add(destination);
      cursor = found.length < PAGE ? "" : found.at(-1)!.destination;
      if (cursor === "") return;
    }
  }

  /** Starts one more lane for each destination with due messages; a lane that gets a full claim requests another. */
  function startLanes() {
    for (const destination of candidates) {
      if (destinations.busy >= parts.limits.maxConcurrent || stopping.signal.aborted) return;
      candidates.delete(destination);
      if (!destinations.acquire(destination)) continue;
      const lane = runLane(destination).finally(() => {
        lanes.delete(lane);
        destinations.release(destination);
        ring();
      });
      lanes.add(lane);
    }
  }

  async function rest() {
    if (rung || stopping.signal.aborted) {
      rung = false;
      return;
    }
    const sleep = new AbortController();
    wakeUp = () => sleep.abort();
    const { nextAt } = destinations;
    await clock.sleep(Math.min(pollMs, Math.max(1, nextAt - clock.now())), sleep.signal).catch(() => {});
    wakeUp = () => {};
    rung = false;
    // A scan finds the destination whose pause has ended.
    if (nextAt <= clock.now()) lastScan = -Infinity;
  }

  /** Sends due messages to one destination until none are left or other destinations have waited long enough. */
  async function runLane(destination: string): Promise<void> {
    try {
      while (!stopping.signal.aborted) {
        if (!(await runClaim(destination))) return;
        const othersWait =
          destinations.busy >= parts.limits.maxConcurrent && [...candidates].some((other) => other !== destination);
        if (othersWait) return add(destination);
      }
    } catch (err) {
      log.warn({ err, destination }, `outbound: failed to deliver due messages, will retry: ${messageOf(err)}`);
    }
  }

  /** Processes one claim. Returns false if nothing is due for the destination, or it has to wait. */
  async function runClaim(destination: string): Promise<boolean> {
    const held = leases.acquire(ids.hex());
    const stop = () => held.controller.abort(over.signal.reason);
    over.signal.addEventListener("abort", stop, { once: true });
    try {
      const single = destinations.isFailing(destination) || parts.limits.perMinute !== undefined;
      const rows = await table.claim(destination, single ? 1 : CLAIM, held);
      if (rows.length === 0) return false;
      const messages = new Map(
        (await table.messages([...new Set(rows.map((row) => row.message_id))])).map((row) => [row.id, row]),
      );
      const groups: [MessageRow | undefined, RecipientRow[]][] = [];
      for (const [messageId, some] of Map.groupBy(rows, (row) => row.message_id))
        groups.push([messages.get(messageId), await withSiblings(some, destination, held)]);
      // A full claim means that more messages are due: starts as many lanes as the destination may use by now.
      const askForMore = () => {
        if (rows.length < CLAIM) return;
        add(destination);
        ring();
      };
      askForMore();
      for (const [message, recipients] of groups) {
        if (message === undefined || stopping.signal.aborted || held.lost || !destinations.tryStart(destination)) {
          await table.release(
            held.token,
            recipients.map(({ id }) => id),
            clock.now(),
          );
          continue;
        }
        await deliver(destination, message, recipients, held);
        askForMore();
      }
      return !held.lost && destinations.canContinue(destination);
    } finally {
      over.signal.removeEventListener("abort", stop);
      leases.release(held);
    }
  }

  /** Adds the other recipients of the message to the same transaction. */
  async function withSiblings(some: RecipientRow[], destination: string, held: ActiveLease): Promise<RecipientRow[]> {
    const [first] = some as [RecipientRow];
    if (some.length >= MAX_RECIPIENTS || some.length > first.siblings) return some;
    return [...some, ...(await table.claimOf(first.message_id, destination, MAX_RECIPIENTS - some.length, held))];
  }

  async function deliver(
    destination: string,
    message: MessageRow,
    rows: RecipientRow[],
    held: ActiveLease,
  ): Promise<void> {
    const body = await bodyOf(message);
    const gone = (row: RecipientRow): RecipientResult => ({
      rcpt: row.rcpt,
      outcome: "permanent",
      reply: reply(554, "5.3.0", "the content of the message is missing"),
    });
    if (body === undefined) {
      log.error({ outbound: message.id }, "outbound: body of a queued message is missing");
      return recorder.settle(held, message, rows, rows.map(gone), over.signal);
    }
    const dsn = message.dsn === null ? {} : (JSON.parse(message.dsn) as Pick<DeliveryRequest, "ret" | "envid">);
    // A smart host gets all recipients of a message in one transaction; messages queued before it was configured are
    // sent by domain.
    for (const [domain, group] of Map.groupBy(rows, (row) => (agent.toSmartHost ? "" : row.domain))) {
      const { results, reached, interrupted } = await agent.deliver(
        domain || group[0]!.domain,
        { from: message.mail_from, own: message.cause !== "forward", to: group.map(recipientOf), body, ...dsn },
        held.controller.signal,
      );
      const unsettled = new Set(
        interrupted ? results.filter(({ outcome }) => outcome === "temporary").map(({ rcpt }) => rcpt) : [],
      );
      const tried = group.filter((row) => !unsettled.has(row.rcpt));
      const back = group.filter((row) => unsettled.has(row.rcpt));
      if (!interrupted) destinations.recordAttempt(destination, { reached, why: results[0]!.reply.text });
      if (back.length > 0 && !held.lost)
        await table.release(
          held.token,
          back.map(({ id }) => id),
          clock.now(),
        );
      if (tried.length > 0) await recorder.settle(held, message, tried, results, over.signal);
    }
  }

  async function bodyOf(message: MessageRow): Promise<ReplayableBody | undefined> {
    const handle = await bodies.open({ id: message.id, createdAt: message.created_at, location: message.body_in });
    if (handle === undefined) return undefined;
    const facts = { size: message.size, eightBit: message.eight_bit === 1, utf8Header: message.utf8_header === 1 };
    if (handle.size > IN_MEMORY) return { ...facts, open: () => handle.read() };
    const bytes = await handle.bytes();
    return { ...facts, open: () => bytes };
  }

  async function stop(graceMs: number) {
    stopping.abort();
    ring();
    await running;
    await finish(graceMs);
    over.abort(new Error("the queue runner is stopping"));
    await finish(LEAVE_BEHIND_MS);
    if (lanes.size > 0)
      log.warn(
        { lanes: lanes.size },
        "outbound: abandoned deliveries that did not stop in time; they will be retried when their lease expires",
      );
  }

  async function finish(ms: number) {
    if (lanes.size === 0 || ms <= 0) return;
    const late = new AbortController();
    await Promise.race([Promise.allSettled(lanes), clock.sleep(ms, late.signal).catch(() => {})]);
    late.abort();
  }

  const running = loop();
  return {
    wake(found) {
      for (const destination of found) add(destination);
      ring();
    },
    stop: ({ graceMs = 10_000 } = {}) => (stopped ??= stop(graceMs)),
  };
}

const LEAVE_BEHIND_MS = 2000;

const recipientOf = (row: RecipientRow): EnvelopeRecipient => ({
  rcpt: row.rcpt,
  ...(row.mail_from !== null && { from: row.mail_from }),
  ...(row.notify !== null && { notify: row.notify.split(",") as NonNullable<EnvelopeRecipient["notify"]> }),
  ...(row.orcpt !== null && { orcpt: row.orcpt }),
});

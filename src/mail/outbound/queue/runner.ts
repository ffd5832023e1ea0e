import { messageOf, type Clock, type Ids, type Log } from "../../../kernel/index.ts";
import type { Peers } from "../../../kernel/peers.ts";
import type { Breaker } from "../smtp/breaker.ts";
import { reply } from "../smtp/replies.ts";
import type { ReplayableBody, DeliveryAgent, DeliveryRequest, EnvelopeRecipient, RecipientResult } from "../types.ts";
import type { Bodies } from "./bodies.ts";
import type { ClaimsTable } from "./claims-table.ts";
import { createDestinations, type DestinationLimits } from "./destinations.ts";
import { createLeases, type ActiveLease } from "./leases.ts";
import type { MessageRow, RecipientRow } from "./migrations.ts";
import type { ResultRecorder } from "./result-recorder.ts";

interface RunnerDeps {
  table: ClaimsTable;
  /** Deliveries start after this promise resolves. */
  ready?: Promise<void>;
  bodies: Bodies;
  agent: DeliveryAgent;
  recorder: ResultRecorder;
  housekeeping: { run(): Promise<void> };
  breaker: Breaker;
  /** Returns the processes that deliver. */
  peers: () => ReturnType<Peers>;
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
const CLAIM_SIZE = 10;
const MAX_RECIPIENTS = 100;
/** Small messages are read into memory; larger ones are streamed. */
const IN_MEMORY_BYTES = 256 * 1024;
const PAGE_SIZE = 200;
const MAX_PAGES_PER_SCAN = 10;
const MAX_CANDIDATES = 5000;

/** Delivers queued messages. Any number of runners share a queue. */
export function startRunner(deps: RunnerDeps): Runner {
  const { table, bodies, agent, recorder, housekeeping, clock, ids, log, leaseMs, pollMs } = deps;
  const stopping = new AbortController();
  const abortController = new AbortController();
  const destinations = createDestinations({ clock, breaker: deps.breaker, limits: deps.limits, peers: deps.peers });
  const leases = createLeases({ table, clock, log, leaseMs, stopSignal: abortController.signal });
  /** Destinations with work, in order of service. */
  const candidates = new Set<string>();
  const lanes = new Set<Promise<void>>();
  let cursor = "";
  let wakeUp = () => {};
  let isWoken = false;
  let lastScan = -Infinity;
  let stopped: Promise<void> | undefined;

  function wakeLoop() {
    isWoken = true;
    wakeUp();
  }

  function addCandidate(destination: string) {
    if (candidates.size < MAX_CANDIDATES) candidates.add(destination);
  }

  async function runLoop() {
    await deps.ready;
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
      await waitForWork();
    }
  }

  /** Continues where the last scan ended, so that every destination is reached regardless of their number. */
  async function scan() {
    for (let page = 0; page < MAX_PAGES_PER_SCAN && candidates.size < MAX_CANDIDATES; page++) {
      const foundDestinations = await table.destinations(cursor, PAGE_SIZE);
      for (const { destination, due } of foundDestinations) if (due <= clock.now()) addCandidate(destination);
      cursor = foundDestinations.length < PAGE_SIZE ? "" : foundDestinations.at(-1)!.destination;
      if (cursor === "") return;
    }
  }

  /**
   * Starts one more lane for each destination with due messages. A lane that claims a full batch requests another lane.
   */
  function startLanes() {
    for (const destination of candidates) {
      if (destinations.busy >= deps.limits.maxConcurrent || stopping.signal.aborted) return;
      candidates.delete(destination);
      if (!destinations.acquire(destination)) continue;
      const lane = runLane(destination).finally(() => {
        lanes.delete(lane);
        destinations.release(destination);
        wakeLoop();
      });
      lanes.add(lane);
    }
  }

  async function waitForWork() {
    if (isWoken || stopping.signal.aborted) {
      isWoken = false;
      return;
    }
    const sleepController = new AbortController();
    wakeUp = () => sleepController.abort();
    const { nextAt } = destinations;
    await clock.sleep(Math.min(pollMs, Math.max(1, nextAt - clock.now())), sleepController.signal).catch(() => {});
    wakeUp = () => {};
    isWoken = false;
    // A scan finds the destination whose delay has ended.
    if (nextAt <= clock.now()) lastScan = -Infinity;
  }

  /** Sends due messages to one destination until none are left, or all lanes are in use and another destination waits. */
  async function runLane(destination: string): Promise<void> {
    try {
      while (!stopping.signal.aborted) {
        if (!(await runClaim(destination))) return;
        const hasOthersWaiting =
          destinations.busy >= deps.limits.maxConcurrent && [...candidates].some((other) => other !== destination);
        if (hasOthersWaiting) return addCandidate(destination);
      }
    } catch (err) {
      log.warn({ err, destination }, `outbound: failed to deliver due messages, will retry: ${messageOf(err)}`);
    }
  }

  /** Processes one claim. Returns false if nothing is due for the destination, or it has to wait. */
  async function runClaim(destination: string): Promise<boolean> {
    const messageLease = leases.acquire(ids.hex());
    const stop = () => messageLease.controller.abort(abortController.signal.reason);
    abortController.signal.addEventListener("abort", stop, { once: true });
    try {
      const isSingle = destinations.isFailing(destination) || deps.limits.perMinute !== undefined;
      const rows = await table.claim(destination, isSingle ? 1 : CLAIM_SIZE, messageLease);
      if (rows.length === 0) return false;
      const messages = new Map(
        (await table.messages([...new Set(rows.map((row) => row.message_id))])).map((row) => [row.id, row]),
      );
      const groups: [MessageRow | undefined, RecipientRow[]][] = [];
      for (const [messageId, messageRows] of Map.groupBy(rows, (row) => row.message_id))
        groups.push([messages.get(messageId), await withSiblings(messageRows, destination, messageLease)]);
      // A full claim means that more messages are due: starts as many lanes as the destination may use by now.
      const requestMore = () => {
        if (rows.length < CLAIM_SIZE) return;
        addCandidate(destination);
        wakeLoop();
      };
      requestMore();
      for (const [message, recipients] of groups) {
        if (
          message === undefined ||
          stopping.signal.aborted ||
          messageLease.lost ||
          !destinations.tryStart(destination)
        ) {
          await table.release(
            messageLease.token,
            recipients.map(({ id }) => id),
            clock.now(),
          );
          continue;
        }
        await deliver(destination, message, recipients, messageLease);
        requestMore();
      }
      return !messageLease.lost && destinations.canContinue(destination);
    } finally {
      abortController.signal.removeEventListener("abort", stop);
      leases.release(messageLease);
    }
  }

  /** Adds the other recipients of the message to the same transaction. */
  async function withSiblings(
    messageRows: RecipientRow[],
    destination: string,
    messageLease: ActiveLease,
  ): Promise<RecipientRow[]> {
    const [first] = messageRows as [RecipientRow];
    if (messageRows.length >= MAX_RECIPIENTS || messageRows.length > first.siblings) return messageRows;
    return [
      ...messageRows,
      ...(await table.claimOf(first.message_id, destination, MAX_RECIPIENTS - messageRows.length, messageLease)),
    ];
  }

  async function deliver(
    destination: string,
    message: MessageRow,
    rows: RecipientRow[],
    messageLease: ActiveLease,
  ): Promise<void> {
    const body = await bodyOf(message);
    const goneResultOf = (row: RecipientRow): RecipientResult => ({
      rcpt: row.rcpt,
      outcome: "permanent",
      reply: reply(554, "5.3.0", "the content of the message is missing"),
    });
    if (body === undefined) {
      log.error({ outbound: message.id }, "outbound: body of a queued message is missing");
      return recorder.settle(messageLease, message, rows, rows.map(goneResultOf), abortController.signal);
    }
    const dsn = message.dsn === null ? {} : (JSON.parse(message.dsn) as Pick<DeliveryRequest, "ret" | "envid">);
    // A smart host gets all recipients of a message in one transaction; messages queued before it was configured are
    // sent by domain.
    for (const [domain, group] of Map.groupBy(rows, (row) => (agent.toSmartHost ? "" : row.domain))) {
      const { results, reached, interrupted } = await agent.deliver(
        domain || group[0]!.domain,
        { from: message.mail_from, own: message.cause !== "forward", to: group.map(recipientOf), body, ...dsn },
        messageLease.controller.signal,
      );
      const unsettled = new Set(
        interrupted ? results.filter(({ outcome }) => outcome === "temporary").map(({ rcpt }) => rcpt) : [],
      );
      const triedRows = group.filter((row) => !unsettled.has(row.rcpt));
      const returnedRows = group.filter((row) => unsettled.has(row.rcpt));
      if (!interrupted) destinations.recordAttempt(destination, { reached, why: results[0]!.reply.text });
      if (returnedRows.length > 0 && !messageLease.lost)
        await table.release(
          messageLease.token,
          returnedRows.map(({ id }) => id),
          clock.now(),
        );
      if (triedRows.length > 0)
        await recorder.settle(messageLease, message, triedRows, results, abortController.signal);
    }
  }

  async function bodyOf(message: MessageRow): Promise<ReplayableBody | undefined> {
    const handle = await bodies.open({ id: message.id, createdAt: message.created_at, location: message.body_in });
    if (handle === undefined) return undefined;
    const facts = { size: message.size, eightBit: message.eight_bit === 1, utf8Header: message.utf8_header === 1 };
    if (handle.size > IN_MEMORY_BYTES) return { ...facts, open: () => handle.read() };
    const bytes = await handle.bytes();
    return { ...facts, open: () => bytes };
  }

  async function stop(graceMs: number) {
    stopping.abort();
    wakeLoop();
    await loopEnd;
    await finish(graceMs);
    abortController.abort(new Error("the queue runner is stopping"));
    await finish(ABANDON_AFTER_MS);
    if (lanes.size > 0)
      log.warn(
        { lanes: lanes.size },
        "outbound: deliveries abandoned, because they did not stop in time; they will be retried when their lease expires",
      );
  }

  async function finish(ms: number) {
    if (lanes.size === 0 || ms <= 0) return;
    const lateController = new AbortController();
    await Promise.race([Promise.allSettled(lanes), clock.sleep(ms, lateController.signal).catch(() => {})]);
    lateController.abort();
  }

  const loopEnd = runLoop();
  return {
    wake(wokenDestinations) {
      for (const destination of wokenDestinations) addCandidate(destination);
      wakeLoop();
    },
    stop: ({ graceMs = 10_000 } = {}) => (stopped ??= stop(graceMs)),
  };
}

const ABANDON_AFTER_MS = 2000;

const recipientOf = (row: RecipientRow): EnvelopeRecipient => ({
  rcpt: row.rcpt,
  ...(row.mail_from !== null && { from: row.mail_from }),
  ...(row.notify !== null && { notify: row.notify.split(",") as NonNullable<EnvelopeRecipient["notify"]> }),
  ...(row.orcpt !== null && { orcpt: row.orcpt }),
});

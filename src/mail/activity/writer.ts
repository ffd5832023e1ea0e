import type { Clock, Log } from "../../kernel/index.ts";
import type { TraceEvent } from "../messages/index.ts";
import { entryOf, rowOf, type EntriesTable, type EntryRow } from "./entries-table.ts";
import { applyEvent, newEntry } from "./fold.ts";
import type { Owners } from "./owners.ts";
import {
  entryId,
  messagePrefix,
  entryReferenceOf,
  replyReferenceOf,
  rcptKey,
  type EntryReference,
} from "./entry-reference.ts";
import type { Entry } from "./types.ts";

interface WriterDeps {
  table: EntriesTable;
  owners: Owners;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Maximum number of waiting events; further ones are dropped. */
  maxBuffered: number;
  flushMs: number;
}

export interface Writer {
  add(event: TraceEvent): void;
  /** Resolves when all events added before have been written or dropped. Never rejects. */
  flush(): Promise<void>;
  droppedSteps(): number;
  close(): Promise<void>;
}

/** Events per write. */
const AT_ONCE = 1000;
const TRIES = 5;
/** Number of attempts per write while the database is unavailable, and the maximum delay between them. */
const ATTEMPTS = 10;
const MAX_WAIT_MS = 5000;
const COMPLAIN_MS = 60_000;

/**
 * Collects events and writes them in batches. Callers of `add` never wait; if the database cannot keep up, events are
 * dropped, not mail.
 *
 * Processes that handle the same message write to one row: each adds its steps to the row it read, and reads the row
 * again if another process wrote it first.
 */
export function createWriter({ table, owners, clock, log, maxBuffered, flushMs }: WriterDeps): Writer {
  let waiting: TraceEvent[] = [];
  let lost = 0;
  let complainedAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let closed = false;
  /** Failed attempts of the current write. */
  let attempts = 0;

  function complain(count: number, err?: unknown) {
    lost += count;
    if (clock.now() - complainedAt < COMPLAIN_MS) return;
    complainedAt = clock.now();
    log.warn({ err, lost }, "mail: message log overloaded; events dropped");
  }

  function schedule() {
    timer ??= setTimeout(
      () => void flush(),
      attempts === 0 ? flushMs : Math.min(flushMs * 2 ** attempts, MAX_WAIT_MS),
    ).unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    return (writing ??= drain().finally(() => {
      writing = undefined;
      if (waiting.length > 0 && !closed) schedule();
    }));
  }

  async function drain() {
    // Bounded to the events waiting now, so that the flush ends; the next flush writes later ones.
    for (let left = waiting.length; left > 0; left -= AT_ONCE) {
      const events = waiting.splice(0, Math.min(left, AT_ONCE));
      try {
        await write(events);
        attempts = 0;
      } catch (err) {
        if (++attempts < ATTEMPTS && waiting.length + events.length <= maxBuffered) {
          waiting = [...events, ...waiting];
          return;
        }
        attempts = 0;
        complain(events.length, err);
      }
    }
  }

  async function write(events: TraceEvent[]) {
    let left = steps(events);
    let first = true;
    for (let tries = 0; left.size > 0; tries++) {
      if (tries === TRIES) return complain(left.size);
      left = await writeOnce(left, first);
      first = false;
    }
  }

  /** Resolves with the messages to write again. */
  async function writeOnce(messages: Map<string, Message>, first: boolean): Promise<Map<string, Message>> {
    // Messages that begin here are usually new; if not, they are read in the second pass.
    const there = Map.groupBy(
      await table.find(lookupKeys([...messages.values()].filter(({ begins }) => !first || !begins))),
      ({ kind, message }) => `${kind} ${message}`,
    );
    const inserts: EntryRow[] = [];
    const updates: { row: EntryRow; wide: boolean }[] = [];
    for (const [key, message] of messages) {
      const rows = there.get(key) ?? [];
      const entries = fold(message, rows.map(entryOf));
      await owners.complete(entries);
      for (const entry of entries) {
        if (message.only !== undefined && !message.only.has(entry.id)) continue;
        const before = rows.find(({ id }) => id === entry.id);
        if (before === undefined) {
          if (isKept(entry)) inserts.push(rowOf(entry, 1));
        } else {
          const row = rowOf(entry, before.version + 1);
          updates.push({
            row,
            wide:
              row.account_id !== before.account_id ||
              row.zone_id !== before.zone_id ||
              row.at !== before.at ||
              row.from_key !== before.from_key,
          });
        }
      }
    }
    const again = new Set((await Promise.all([table.insert(inserts), table.update(updates)])).flat());
    if (again.size === 0) return new Map();
    const byId = new Map([...inserts, ...updates.map(({ row }) => row)].map((row) => [row.id, row]));
    const left = new Map<string, Message>();
    for (const id of again) {
      const row = byId.get(id)!;
      const key = `${row.kind} ${row.message}`;
      const only = left.get(key)?.only ?? new Set();
      left.set(key, { ...messages.get(key)!, only: only.add(id) });
    }
    return left;
  }

  return {
    add(event) {
      if (closed || waiting.length >= maxBuffered) return complain(1);
      waiting.push(event);
      if (waiting.length >= AT_ONCE && attempts === 0) void flush();
      else schedule();
    },
    async flush() {
      // A running flush may have begun before the last event was added.
      await writing;
      await flush();
    },
    droppedSteps: () => lost,
    async close() {
      if (closed) return;
      closed = true;
      await writing;
      await flush();
      if (waiting.length > 0) complain(waiting.splice(0).length);
    },
  };
}

/** Collected events of one message. */
interface Message {
  reference: EntryReference;
  steps: { event: TraceEvent; rcpts: string[] | undefined }[];
  /** Whether the first step of the message is included. */
  begins: boolean;
  /** The entries to write, if not all of them. */
  only?: Set<string>;
}

function steps(events: TraceEvent[]): Map<string, Message> {
  const messages = new Map<string, Message>();
  for (const event of events) {
    for (const reference of [entryReferenceOf(event), replyReferenceOf(event)]) {
      if (reference === undefined) continue;
      const key = `${reference.kind} ${reference.message}`;
      let message = messages.get(key);
      if (message === undefined) messages.set(key, (message = { reference, steps: [], begins: false }));
      message.begins ||= event.step === "received" || event.step === "sent";
      message.steps.push({ event, rcpts: reference.rcpts });
    }
  }
  return messages;
}

/**
 * The entries that the steps refer to: all entries of a message if a step refers to all recipients or does not name the
 * original recipient.
 */
function lookupKeys(messages: Message[]): { ids: string[]; prefixes: string[] } {
  const ids = new Set<string>();
  const prefixes: string[] = [];
  for (const {
    reference: { kind, message },
    steps,
  } of messages) {
    if (steps.some(({ event, rcpts }) => rcpts === undefined || (kind === "routing" && mayBeMisnamed(event))))
      prefixes.push(messagePrefix(kind, message));
    else for (const { rcpts } of steps) for (const rcpt of rcpts!) ids.add(entryId(kind, message, rcpt));
  }
  return { ids: [...ids], prefixes };
}

function fold({ reference, steps }: Message, known: Entry[]): Entry[] {
  const entries = new Map(known.map((entry) => [entry.id, entry]));
  const touched = new Set<Entry>();
  for (const { event, rcpts } of steps) {
    for (const entry of entriesFor(reference, entries, rcpts, event)) {
      touched.add(entry);
      applyEvent(entry, event);
    }
  }
  return [...touched];
}

/** The entries of the recipients an event names, or of all recipients if it names none. */
function entriesFor(
  place: EntryReference,
  entries: Map<string, Entry>,
  rcpts: string[] | undefined,
  event: TraceEvent,
): Entry[] {
  if (rcpts === undefined) return [...entries.values()];
  return rcpts.flatMap((rcpt) => {
    const id = entryId(place.kind, place.message, rcpt);
    const found = entries.get(id) ?? findByDestination(place, entries, rcpt, event);
    if (found !== undefined) return [found];
    const entry = newEntry(place, rcpt, event.at.getTime());
    entries.set(id, entry);
    return [entry];
  });
}

/**
 * A step of a copy that names only its destination, not the original recipient, belongs to the entries with a delivery
 * to that destination.
 */
function findByDestination(
  { kind }: EntryReference,
  entries: Map<string, Entry>,
  rcpt: string,
  event: TraceEvent,
): Entry | undefined {
  if (kind === "sending" || !mayBeMisnamed(event) || entries.size === 0) return undefined;
  const all = [...entries.values()];
  const sends = (entry: Entry) =>
    entry.deliveries.some(({ to }) => rcptKey(to) === rcptKey(rcpt)) ||
    entry.events.some((one) =>
      [one.detail["to"]].flat().some((to) => typeof to === "string" && rcptKey(to) === rcptKey(rcpt)),
    );
  return all.find(sends) ?? (all.length === 1 ? all[0] : undefined);
}

const mayBeMisnamed = ({ step, detail }: TraceEvent) =>
  step !== "received" && typeof detail["messageId"] === "string" && detail["to"] === undefined;

/** Rejected mail for foreign domains is not logged: it would fill the log. Bounces to return paths are logged without an account. */
const isKept = (entry: Entry): boolean =>
  entry.kind === "sending" ||
  entry.account !== "" ||
  entry.events.some(({ detail: { returnPaths } }) => Array.isArray(returnPaths) && returnPaths.includes(entry.to));

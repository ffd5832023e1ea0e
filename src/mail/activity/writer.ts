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
  /** Called with the entries of each write, after it. Must not throw. */
  onWritten?(entries: readonly WrittenEntry[]): void;
}

/** An entry that was added or changed. */
export interface WrittenEntry {
  id: string;
  account: string;
  zone: string;
  /** True if one of its deliveries is or was in the outbound queue. */
  isQueued: boolean;
}

export interface Writer {
  add(event: TraceEvent): void;
  /** Resolves when all previously added events have been written or dropped. Never rejects. */
  flush(): Promise<void>;
  droppedSteps(): number;
  close(): Promise<void>;
}

/** Events per write. */
const BATCH_SIZE = 1000;
const MAX_TRIES = 5;
/** Number of attempts per write while the database is unavailable, and the maximum delay between them. */
const MAX_ATTEMPTS = 10;
const MAX_WAIT_MS = 5000;
const COMPLAINT_INTERVAL_MS = 60_000;

/**
 * Collects events and writes them in batches. Callers of `add` never wait; if the database cannot keep up, events are
 * dropped, not mail.
 *
 * Processes that handle the same message write to one row: each adds its steps to the row it read, and reads the row
 * again if another process wrote it first.
 */
export function createWriter({ table, owners, clock, log, maxBuffered, flushMs, onWritten }: WriterDeps): Writer {
  let pendingEvents: TraceEvent[] = [];
  let lost = 0;
  let complainedAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let closed = false;
  /** Failed attempts of the current write. */
  let attempts = 0;

  function complain(count: number, err?: unknown) {
    lost += count;
    if (clock.now() - complainedAt < COMPLAINT_INTERVAL_MS) return;
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
      if (pendingEvents.length > 0 && !closed) schedule();
    }));
  }

  async function drain() {
    // Limited to the events waiting now, so that the flush ends; the next flush writes later ones.
    for (let left = pendingEvents.length; left > 0; left -= BATCH_SIZE) {
      const events = pendingEvents.splice(0, Math.min(left, BATCH_SIZE));
      try {
        await write(events);
        attempts = 0;
      } catch (err) {
        if (++attempts < MAX_ATTEMPTS && pendingEvents.length + events.length <= maxBuffered) {
          pendingEvents = [...events, ...pendingEvents];
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
      if (tries === MAX_TRIES) return complain(left.size);
      left = await writeOnce(left, first);
      first = false;
    }
  }

  /** Resolves with the messages to write again. */
  async function writeOnce(messages: Map<string, Message>, first: boolean): Promise<Map<string, Message>> {
    // Messages that begin here are usually new; if not, they are read in the second pass.
    const entriesByMessage = Map.groupBy(
      await table.find(lookupKeys([...messages.values()].filter(({ begins }) => !first || !begins))),
      ({ kind, message }) => `${kind} ${message}`,
    );
    const inserts: EntryRow[] = [];
    const updates: { row: EntryRow; wide: boolean }[] = [];
    for (const [key, message] of messages) {
      const rows = entriesByMessage.get(key) ?? [];
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
    const conflictingIds = new Set((await Promise.all([table.insert(inserts), table.update(updates)])).flat());
    onWritten?.(
      [...inserts, ...updates.map(({ row }) => row)]
        .filter(({ id }) => !conflictingIds.has(id))
        .map(({ id, account_id: account, zone_id: zone, details }) => ({
          id,
          account,
          zone,
          isQueued: details.includes('"outbound":'),
        })),
    );
    if (conflictingIds.size === 0) return new Map();
    const byId = new Map([...inserts, ...updates.map(({ row }) => row)].map((row) => [row.id, row]));
    const left = new Map<string, Message>();
    for (const id of conflictingIds) {
      const row = byId.get(id)!;
      const key = `${row.kind} ${row.message}`;
      const onlyEntries = left.get(key)?.only ?? new Set();
      left.set(key, { ...messages.get(key)!, only: onlyEntries.add(id) });
    }
    return left;
  }

  return {
    add(event) {
      if (closed || pendingEvents.length >= maxBuffered) return complain(1);
      pendingEvents.push(event);
      if (pendingEvents.length >= BATCH_SIZE && attempts === 0) void flush();
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
      if (pendingEvents.length > 0) complain(pendingEvents.splice(0).length);
    },
  };
}

/** Collected events of one message. */
interface Message {
  reference: EntryReference;
  steps: { event: TraceEvent; rcpts: string[] | undefined }[];
  /** True if the first step of the message is included. */
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
 * Returns the entries that the steps refer to: all entries of a message if a step refers to all recipients or does not
 * name the original recipient.
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

function fold({ reference, steps }: Message, existingEntries: Entry[]): Entry[] {
  const entries = new Map(existingEntries.map((entry) => [entry.id, entry]));
  const changedEntries = new Set<Entry>();
  for (const { event, rcpts } of steps) {
    for (const entry of entriesFor(reference, entries, rcpts, event)) {
      changedEntries.add(entry);
      applyEvent(entry, event);
    }
  }
  return [...changedEntries];
}

/** Returns the entries of the recipients an event names, or of all recipients if it names none. */
function entriesFor(
  entryReference: EntryReference,
  entries: Map<string, Entry>,
  rcpts: string[] | undefined,
  event: TraceEvent,
): Entry[] {
  if (rcpts === undefined) return [...entries.values()];
  return rcpts.flatMap((rcpt) => {
    const id = entryId(entryReference.kind, entryReference.message, rcpt);
    const matchedEntry = entries.get(id) ?? findByDestination(entryReference, entries, rcpt, event);
    if (matchedEntry !== undefined) return [matchedEntry];
    const entry = newEntry(entryReference, rcpt, event.at.getTime());
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
  const allEntries = [...entries.values()];
  const sendsTo = (entry: Entry) =>
    entry.deliveries.some(({ to }) => rcptKey(to) === rcptKey(rcpt)) ||
    entry.events.some((one) =>
      [one.detail["to"]].flat().some((to) => typeof to === "string" && rcptKey(to) === rcptKey(rcpt)),
    );
  return allEntries.find(sendsTo) ?? (allEntries.length === 1 ? allEntries[0] : undefined);
}

const mayBeMisnamed = ({ step, detail }: TraceEvent) =>
  step !== "received" && typeof detail["messageId"] === "string" && detail["to"] === undefined;

/**
 * Rejected mail for foreign domains is not logged: it would fill the log. Bounces to return paths are logged without an
 * account.
 */
const isKept = (entry: Entry): boolean =>
  entry.kind === "sending" ||
  entry.account !== "" ||
  entry.events.some(({ detail: { returnPaths } }) => Array.isArray(returnPaths) && returnPaths.includes(entry.to));

import type { Clock, Log } from "../../kernel/index.ts";
import type { TraceEvent } from "../messages/index.ts";
import { entryOf, rowOf, type EntriesTable, type EntryRow } from "./entries-table.ts";
import { applyEvent, newEntry } from "./fold.ts";
import type { Owners } from "./owners.ts";
import { entryId, messagePrefix, placeOf, placeOfReply, rcptKey, type Place } from "./place.ts";
import type { Entry } from "./types.ts";

export interface WriterParts {
  table: EntriesTable;
  owners: Owners;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Events that may wait; more are lost. */
  most: number;
  flushMs: number;
}

export interface Writer {
  add(event: TraceEvent): void;
  /** Resolves when what was added before is written, or given up. Never rejects. */
  flush(): Promise<void>;
  lost(): number;
  close(): Promise<void>;
}

/** Events of one write. */
const AT_ONCE = 1000;
const TRIES = 5;
/** How often one write is tried while the database is away, and how long apart at most. */
const ATTEMPTS = 10;
const MAX_WAIT_MS = 5000;
const COMPLAIN_MS = 60_000;

/**
 * Gathers events and writes what they say in groups. Whoever calls `add` never waits for it; a database that cannot keep up costs events, not mail.
 *
 * Processes that hear of one message write to one row: each adds its steps to what it read, and reads again when somebody was faster.
 */
export function createWriter({ table, owners, clock, log, most, flushMs }: WriterParts): Writer {
  let waiting: TraceEvent[] = [];
  let lost = 0;
  let complainedAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let closed = false;
  /** Of the write that is to be done next. */
  let attempts = 0;

  function complain(count: number, err?: unknown) {
    lost += count;
    if (clock.now() - complainedAt < COMPLAIN_MS) return;
    complainedAt = clock.now();
    log.warn({ err, lost }, "mail: message log overloaded; events are missing");
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
    // What comes while this runs is for the next time, so that it has an end.
    for (let left = waiting.length; left > 0; left -= AT_ONCE) {
      const events = waiting.splice(0, Math.min(left, AT_ONCE));
      try {
        await write(events);
        attempts = 0;
      } catch (err) {
        if (++attempts < ATTEMPTS && waiting.length + events.length <= most) {
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

  /** Resolves with what has to be done again. */
  async function writeOnce(messages: Map<string, Message>, first: boolean): Promise<Map<string, Message>> {
    // What begins here is new, as a rule; when it is not, it is read the second time.
    const there = Map.groupBy(
      await table.find(sought([...messages.values()].filter(({ begins }) => !first || !begins))),
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
      if (closed || waiting.length >= most) return complain(1);
      waiting.push(event);
      if (waiting.length >= AT_ONCE && attempts === 0) void flush();
      else schedule();
    },
    async flush() {
      // One that is under way may have begun before the last was added.
      await writing;
      await flush();
    },
    lost: () => lost,
    async close() {
      if (closed) return;
      closed = true;
      await writing;
      await flush();
      if (waiting.length > 0) complain(waiting.splice(0).length);
    },
  };
}

/** What was heard of one message. */
interface Message {
  place: Place;
  steps: { event: TraceEvent; rcpts: string[] | undefined }[];
  /** Whether its first step is among them. */
  begins: boolean;
  /** The entries that have to be written, when it is not all of them. */
  only?: Set<string>;
}

function steps(events: TraceEvent[]): Map<string, Message> {
  const messages = new Map<string, Message>();
  for (const event of events) {
    for (const place of [placeOf(event), placeOfReply(event)]) {
      if (place === undefined) continue;
      const key = `${place.kind} ${place.message}`;
      let message = messages.get(key);
      if (message === undefined) messages.set(key, (message = { place, steps: [], begins: false }));
      message.begins ||= event.step === "received" || event.step === "sent";
      message.steps.push({ event, rcpts: place.rcpts });
    }
  }
  return messages;
}

/** The entries that steps are about: all of a message where one of them is about all, or does not name whom it was for. */
function sought(messages: Message[]): { ids: string[]; prefixes: string[] } {
  const ids = new Set<string>();
  const prefixes: string[] = [];
  for (const {
    place: { kind, message },
    steps: heard,
  } of messages) {
    if (heard.some(({ event, rcpts }) => rcpts === undefined || (kind === "routing" && mayBeMisnamed(event))))
      prefixes.push(messagePrefix(kind, message));
    else for (const { rcpts } of heard) for (const rcpt of rcpts!) ids.add(entryId(kind, message, rcpt));
  }
  return { ids: [...ids], prefixes };
}

function fold({ place, steps: heard }: Message, known: Entry[]): Entry[] {
  const entries = new Map(known.map((entry) => [entry.id, entry]));
  const touched = new Set<Entry>();
  for (const { event, rcpts } of heard) {
    for (const entry of entriesFor(place, entries, rcpts, event)) {
      touched.add(entry);
      applyEvent(entry, event);
    }
  }
  return [...touched];
}

/** The entries of the recipients an event names; those of everyone when it names nobody. */
function entriesFor(
  place: Place,
  entries: Map<string, Entry>,
  rcpts: string[] | undefined,
  event: TraceEvent,
): Entry[] {
  if (rcpts === undefined) return [...entries.values()];
  return rcpts.flatMap((rcpt) => {
    const id = entryId(place.kind, place.message, rcpt);
    const found = entries.get(id) ?? misnamed(place, entries, rcpt, event);
    if (found !== undefined) return [found];
    const entry = newEntry(place, rcpt, event.at.getTime());
    entries.set(id, entry);
    return [entry];
  });
}

/** A step of a copy that names only where the copy goes, not whom the message was for: it belongs to whoever was said to have it sent there. */
function misnamed({ kind }: Place, entries: Map<string, Entry>, rcpt: string, event: TraceEvent): Entry | undefined {
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

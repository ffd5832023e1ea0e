import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { isHexId, messageOf, type Clock, type Log } from "../../kernel/index.ts";
import type { Db, ObjectStore } from "../../store/index.ts";
import { mailErrors } from "../errors.ts";
import { readMessageContent } from "../archive/index.ts";
import { indexMessage, MAX_INDEXED_BYTES } from "./content-index.ts";
import { createInboxTable, type AddedMessage, type MessageChange, type UnindexedMessage } from "./messages-table.ts";
import type { Inbox, InboxMessage, NewInboxMessage } from "./types.ts";
import { createWaiters } from "./waiters.ts";

interface InboxOptions {
  db: Db;
  objects: ObjectStore;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Maximum number of messages, and their maximum total size in bytes. */
  maxMessages: number;
  maxBytes: number;
  /** Larger messages are stored as objects: creating a file takes longer than inserting a row. Default 128 KiB. */
  maxRowBytes?: number;
  /** Maximum number of concurrent calls of wait(). Default 100. */
  maxWaiters?: number;
  /** Ends all waits, so that the server can stop. */
  stopping?: AbortSignal;
}

const PREFIX = "mail/inbox/";
const DELETE_BATCH = 200;
/**
 * Changes are written to the database together: at most once per interval, before each read, and immediately while a
 * request waits for a message. A process that is killed loses the changes of the last interval.
 */
const FLUSH_INTERVAL_MS = 500;
/** Delay before a write. A message is usually handled within this time, so its result is written together with it. */
const MIN_FLUSH_DELAY_MS = 20;
/** Maximum number and total size in bytes of new messages in memory; beyond either, they are written immediately. */
const MAX_BUFFERED = 1000;
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
/** The bounds may be exceeded by this factor until the next read: each deletion is a separate transaction. */
const SLACK = 1.2;
/** Number of messages indexed in one transaction, at most 128 KiB each. */
const INDEX_BATCH = 50;
const MAX_LISTED_RECIPIENTS = 100;

/**
 * Stores messages in the database, large ones as objects. Messages are parsed before the next read, not when they are
 * added: parsing costs more than storing, and a load test adds thousands that no client reads. For use by a single
 * process: the bounds count only its own changes.
 */
export async function openInbox({
  db,
  objects,
  clock,
  log,
  maxMessages,
  maxBytes,
  maxRowBytes = 128 * 1024,
  maxWaiters = 100,
  stopping,
}: InboxOptions): Promise<Inbox> {
  const table = createInboxTable(db);
  const waiters = createWaiters({ limit: maxWaiters });
  stopping?.addEventListener("abort", () => waiters.close(), { once: true });
  const listeners = new Set<(account: string, id: string) => void>();
  /** Changes that reads must wait for, by message. */
  const pending = new Map<string, Promise<void>>();
  await table.markInterrupted();
  const totals = await table.totals();
  await deleteOrphans();

  let added = new Map<string, AddedMessage>();
  let addedBytes = 0;
  let changed = new Map<string, MessageChange>();
  /** Messages of an earlier process may not be indexed yet. */
  let hasUnindexed = true;
  let flushedAt = 0;
  let flushTimer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  function flushLater(account: string) {
    if (waiters.isWaiting(account)) return void flush();
    const sinceFlush = Math.max(0, clock.now() - flushedAt);
    const delay = Math.max(MIN_FLUSH_DELAY_MS, FLUSH_INTERVAL_MS - sinceFlush);
    flushTimer ??= setTimeout(() => void flush(), delay).unref();
  }

  /** Resolves when all buffered changes are in the database. */
  function flush(): Promise<void> {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    flushedAt = clock.now();
    if (added.size === 0 && changed.size === 0) return flushing;
    const [newMessages, changes] = [added, changed];
    added = new Map();
    addedBytes = 0;
    changed = new Map();
    flushing = flushing.then(async () => {
      try {
        await table.write([...newMessages.values()], changes);
        hasUnindexed ||= newMessages.size > 0;
      } catch (err) {
        log.warn({ err, messages: newMessages.size }, `inbox: failed to store messages: ${messageOf(err)}`);
        return;
      }
      for (const [id, { message }] of newMessages) notify(message.account, id);
      for (const [id, { account }] of changes) notify(account, id);
      if (totals.count > SLACK * maxMessages || totals.bytes > SLACK * maxBytes) await prune();
    });
    return flushing;
  }

  const keyOf = (id: string) => `${PREFIX}${id}.eml`;

  /** A process that was killed may have stored the content of a message, but not its row. */
  async function deleteOrphans(): Promise<void> {
    let ids: string[] = [];
    const check = async () => {
      const existing = ids.length === 0 ? new Set<string>() : await table.existing(ids);
      const orphans = ids.filter((id) => !existing.has(id));
      if (orphans.length > 0) await objects.delete(orphans.map((id) => `${PREFIX}${id}.eml`));
      ids = [];
    };
    for await (const { key } of objects.list(PREFIX)) {
      ids.push(key.slice(PREFIX.length, -".eml".length));
      if (ids.length === DELETE_BATCH) await check();
    }
    await check();
  }

  function notify(account: string, id: string) {
    waiters.wake(account);
    for (const listener of listeners) listener(account, id);
  }

  /** Runs `work` after the earlier changes of the message. */
  function enqueue(id: string, failure: string, work: () => Promise<void>): Promise<void> {
    const earlier = pending.get(id) ?? Promise.resolve();
    const change = earlier
      .then(work)
      .catch((err: unknown) => log.warn({ err, message: id }, `inbox: ${failure}: ${messageOf(err)}`))
      .finally(() => {
        if (pending.get(id) === change) pending.delete(id);
      });
    pending.set(id, change);
    return change;
  }

  /** Resolves when all changes so far are stored. */
  async function stored(): Promise<void> {
    await Promise.all(pending.values());
    await flush();
  }

  /** Resolves when all changes so far can be read. */
  async function settled(): Promise<void> {
    await stored();
    flushing = flushing.then(prune);
    await indexNew();
  }

  /** Runs between writes, because both change the same rows. */
  function indexNew(): Promise<void> {
    flushing = flushing.then(async () => {
      try {
        while (hasUnindexed) {
          const batch = await table.unindexed(INDEX_BATCH);
          hasUnindexed = batch.length === INDEX_BATCH;
          const entries = [];
          for (const unindexed of batch) {
            const { message } = unindexed;
            entries.push({ ...(await indexMessage(message, await beginningOf(unindexed))), message });
          }
          await table.index(entries);
        }
      } catch (err) {
        hasUnindexed = true;
        log.warn({ err }, `inbox: failed to index messages, will retry: ${messageOf(err)}`);
      }
    });
    return flushing;
  }

  async function beginningOf({ message: { id }, raw }: UnindexedMessage): Promise<Uint8Array> {
    if (raw !== null) return raw;
    const object = await objects.open(keyOf(id));
    return object === undefined ? new Uint8Array() : buffer(object.read({ start: 0, end: MAX_INDEXED_BYTES - 1 }));
  }

  async function store(message: NewInboxMessage, position: number): Promise<void> {
    const raw = message.file === undefined ? message.raw() : undefined;
    const isInRow = raw instanceof Uint8Array && raw.length <= maxRowBytes;
    const size = isInRow ? raw.length : await storeObject(keyOf(message.id), raw ?? { file: message.file! });
    added.set(message.id, { message: newMessage(message, size, position), position, raw: isInRow ? raw : undefined });
    totals.count += 1;
    totals.bytes += size;
    addedBytes += isInRow ? size : 0;
    // Makes the caller wait, so that a slow database does not exhaust memory.
    if (added.size >= MAX_BUFFERED || addedBytes >= MAX_BUFFERED_BYTES) await flush();
    else flushLater(message.account);
  }

  /** Resolves with the size. */
  async function storeObject(key: string, body: Readable | Uint8Array | { file: string }): Promise<number> {
    if (!("file" in body)) return (await objects.put(key, body, { durable: false })).size;
    await objects.putFile(key, body.file, { durable: false });
    return (await objects.open(key))!.size;
  }

  /** Deletes the oldest messages beyond the bounds. */
  async function prune(): Promise<void> {
    try {
      await removeSurplus();
    } catch (err) {
      log.warn({ err }, `inbox: failed to delete old messages, will retry: ${messageOf(err)}`);
    }
  }

  async function removeSurplus(): Promise<void> {
    while (totals.count > maxMessages || totals.bytes > maxBytes) {
      let count = totals.count - maxMessages;
      let bytes = totals.bytes - maxBytes;
      const surplus = (await table.oldest(DELETE_BATCH)).filter(({ size }) => {
        if (count <= 0 && bytes <= 0) return false;
        count -= 1;
        bytes -= size;
        return true;
      });
      if (surplus.length === 0) return;
      await remove(surplus.map(({ id }) => id));
      for (const account of new Set(surplus.map(({ account_id: id }) => id))) notify(account, "");
    }
  }

  async function remove(ids: string[]): Promise<number> {
    const removed = await table.remove(ids);
    totals.count -= removed.length;
    totals.bytes -= removed.reduce((sum, { size }) => sum + size, 0);
    const keys = removed.filter(({ isObject }) => isObject).map(({ id }) => keyOf(id));
    if (keys.length > 0) await objects.delete(keys);
    return removed.length;
  }

  async function get(account: string, id: string): Promise<InboxMessage> {
    await settled();
    const message = isHexId(id) ? await table.get(account, id) : undefined;
    if (message === undefined) throw mailErrors.inboxMessageMissing({ id: id.slice(0, 100) });
    return message;
  }

  async function readRaw(account: string, id: string): Promise<Uint8Array> {
    await get(account, id);
    const raw = (await table.raw(account, id)) ?? (await (await objects.open(keyOf(id)))?.bytes());
    if (raw === undefined) throw mailErrors.inboxMessageMissing({ id });
    return raw;
  }

  const inbox: Inbox = {
    add(message) {
      totals.position = Math.max(totals.position + 1, clock.now() * 1000);
      const { position } = totals;
      return enqueue(message.id, "failed to store a message", () => store(message, position));
    },
    update(account, id, change) {
      void enqueue(id, "failed to update a message", async () => {
        const message = added.get(id)?.message;
        if (message?.account === account) Object.assign(message, change);
        else changed.set(id, { account, change: { ...changed.get(id)?.change, ...change } });
        flushLater(account);
      });
    },
    async list(account, search, page) {
      await settled();
      const [items, total] = await Promise.all([table.list(account, search, page), table.count(account, search)]);
      return { items, total };
    },
    async wait(account, search, { count, timeoutMs, page, signal }) {
      const isEnough = async () => {
        await settled();
        return (await table.count(account, search)) >= count;
      };
      await waiters.until(account, isEnough, { timeoutMs, ...(signal && { signal }) });
      return inbox.list(account, search, page);
    },
    get,
    async causedBy(account, id) {
      await settled();
      return table.causedBy(account, id);
    },
    raw: readRaw,
    async content(account, id) {
      const raw = await readRaw(account, id);
      try {
        return await readMessageContent(raw);
      } catch (err) {
        throw mailErrors.inboxContentInvalid({ id, reason: messageOf(err) }, { cause: err });
      }
    },
    async delete(account, id) {
      await get(account, id);
      if ((await remove([id])) === 0) throw mailErrors.inboxMessageMissing({ id });
      notify(account, id);
    },
    async deleteMatching(account, search) {
      await settled();
      let deleted = 0;
      for (;;) {
        const ids = (await table.matchingIds(account, search, DELETE_BATCH)).map(({ id }) => id);
        if (ids.length === 0) break;
        deleted += await remove(ids);
      }
      if (deleted > 0) notify(account, "");
      return deleted;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      waiters.close();
      await stored();
    },
  };
  return inbox;
}

function newMessage(
  { id, account, kind, status, from, to, worker, parent }: NewInboxMessage,
  size: number,
  position: number,
): InboxMessage {
  const storedTo = to.slice(0, MAX_LISTED_RECIPIENTS);
  return {
    id,
    account,
    kind,
    status,
    at: new Date(Math.floor(position / 1000)),
    from,
    to: storedTo,
    author: "",
    subject: "",
    messageId: undefined,
    preview: "",
    size,
    attachments: 0,
    read: false,
    worker,
    parent,
    deliveries: kind === "received" ? storedTo.map((rcpt) => ({ to: rcpt })) : [],
    authentication: undefined,
  };
}

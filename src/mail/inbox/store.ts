import { Readable } from "node:stream";
import { isHexId, messageOf, type Clock, type Log } from "../../kernel/index.ts";
import type { Db, ObjectStore } from "../../store/index.ts";
import { mailErrors } from "../errors.ts";
import { readMessageContent, type MessageContent } from "../archive/index.ts";
import { textOfHtml } from "./text-of-html.ts";
import { createInboxTable, type IndexedMessage, type MessageChange } from "./messages-table.ts";
import type { Inbox, InboxMessage, NewInboxMessage } from "./types.ts";
import { createWaiters } from "./waiters.ts";

interface InboxOptions {
  db: Db;
  objects: ObjectStore;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Maximum number of messages, and of bytes of all of them. */
  maxMessages: number;
  maxBytes: number;
  /** Larger messages are stored as objects: creating a file takes longer than a row. Default 128 KiB. */
  maxRowBytes?: number;
  /** Maximum number of concurrent calls of wait(). Default 100. */
  maxWaiters?: number;
  /** Ends all waits, so that the server can stop. */
  stopping?: AbortSignal;
}

const PREFIX = "mail/inbox/";
const DELETE_BATCH = 200;
/**
 * Changes are written to the database together, at this interval and before each read. A process that is killed loses
 * the changes of the last interval.
 */
const FLUSH_MS = 200;
/** More new messages are written immediately. */
const MAX_BUFFERED = 100;
/** Messages that are read and parsed concurrently. Each is in memory as a whole. */
const MAX_CONCURRENT = 2;
/** The list and the search cover this part of a message: parsing takes a tenth of a second per ten megabytes. */
const MAX_INDEXED_BYTES = 1024 * 1024;
/** Characters of the text that the search covers. */
const MAX_SEARCH_TEXT = 64 * 1024;
const MAX_PREVIEW = 200;
const MAX_SUBJECT = 1000;
const MAX_LISTED_RECIPIENTS = 100;

/**
 * Stores messages and their search index in the database, large messages as objects. For one process: the bounds count only its own
 * changes.
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
  let pruning: Promise<void> = Promise.resolve();
  await table.markInterrupted();
  const totals = await table.totals();
  await deleteOrphans();

  let added = new Map<string, IndexedMessage>();
  let changed = new Map<string, MessageChange>();
  let flushTimer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  function flushLater() {
    if (added.size >= MAX_BUFFERED) return void flush();
    flushTimer ??= setTimeout(() => void flush(), FLUSH_MS).unref();
  }

  /** Resolves when all buffered changes are in the database. */
  function flush(): Promise<void> {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    if (added.size === 0 && changed.size === 0) return flushing;
    const [newMessages, changes] = [added, changed];
    added = new Map();
    changed = new Map();
    flushing = flushing.then(async () => {
      try {
        await table.write([...newMessages.values()], changes);
      } catch (err) {
        log.warn({ err, messages: newMessages.size }, `inbox: failed to store messages: ${messageOf(err)}`);
        return;
      }
      for (const [id, { message }] of newMessages) notify(message.account, id);
      for (const [id, { account }] of changes) notify(account, id);
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

  let storing = 0;
  const waitingForSlot: (() => void)[] = [];

  async function inSlot(work: () => Promise<void>): Promise<void> {
    if (storing < MAX_CONCURRENT) storing++;
    else await new Promise<void>((resolve) => waitingForSlot.push(resolve));
    try {
      await work();
    } finally {
      // The slot passes to the next message.
      const next = waitingForSlot.shift();
      if (next === undefined) storing--;
      else next();
    }
  }

  /** Resolves when all changes so far can be read. */
  async function settled(): Promise<void> {
    await Promise.all(pending.values());
    await flush();
    await pruning;
  }

  async function store(message: NewInboxMessage, position: number): Promise<void> {
    const raw = await bytesOf(message.raw());
    const isObject = raw.length > maxRowBytes;
    if (isObject) await objects.put(keyOf(message.id), raw, { durable: false });
    const content = await readMessageContent(raw.subarray(0, MAX_INDEXED_BYTES)).catch(
      (): MessageContent | undefined => undefined,
    );
    added.set(message.id, { ...indexed(message, raw, content, position), raw: isObject ? undefined : raw });
    flushLater();
    totals.count += 1;
    totals.bytes += raw.length;
    if (totals.count > maxMessages || totals.bytes > maxBytes) prune();
  }

  function prune() {
    pruning = pruning.then(async () => {
      await flush();
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
    });
    pruning = pruning.catch((err: unknown) => log.warn({ err }, "inbox: failed to delete old messages, will retry"));
  }

  async function remove(ids: string[]): Promise<number> {
    const removed = await table.remove(ids);
    totals.count -= removed.length;
    totals.bytes -= removed.reduce((sum, { size }) => sum + size, 0);
    await objects.delete(removed.map(({ id }) => keyOf(id)));
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
    const stored = (await table.raw(account, id)) ?? (await (await objects.open(keyOf(id)))?.bytes());
    if (stored === undefined) throw mailErrors.inboxMessageMissing({ id });
    return stored;
  }

  const inbox: Inbox = {
    add(message) {
      totals.position = Math.max(totals.position + 1, clock.now() * 1000);
      const { position } = totals;
      return enqueue(message.id, "failed to store a message", () => inSlot(() => store(message, position)));
    },
    update(account, id, change) {
      void enqueue(id, "failed to update a message", async () => {
        const message = added.get(id)?.message;
        if (message?.account === account) Object.assign(message, change);
        else changed.set(id, { account, change: { ...changed.get(id)?.change, ...change } });
        flushLater();
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
      await settled();
    },
  };
  return inbox;
}

async function bytesOf(raw: Readable | Uint8Array): Promise<Uint8Array> {
  return raw instanceof Readable ? Buffer.concat(await raw.toArray()) : raw;
}

function indexed(
  { id, account, kind, status, from, to, worker, parent }: NewInboxMessage,
  raw: Uint8Array,
  content: MessageContent | undefined,
  position: number,
): Omit<IndexedMessage, "raw"> {
  const { subject = "", text, html } = content ?? {};
  const visibleText = (text ?? (html === undefined ? "" : textOfHtml(html.slice(0, 4 * MAX_SEARCH_TEXT)))).slice(
    0,
    MAX_SEARCH_TEXT,
  );
  const listed = (list: MessageContent["to"] = []) => list.map(({ name, address }) => `${name} <${address}>`);
  const { attachments = [] } = content ?? {};
  return {
    position,
    message: {
      id,
      account,
      kind,
      status,
      at: new Date(Math.floor(position / 1000)),
      from,
      to: to.slice(0, MAX_LISTED_RECIPIENTS),
      author: listed(content?.from).map((one) => one.replace(/^ <(.*)>$/, "$1"))[0] ?? "",
      subject: clean(subject).slice(0, MAX_SUBJECT),
      messageId: messageIdOf(content),
      preview: clean(visibleText.slice(0, 4 * MAX_PREVIEW))
        .replace(/\s+/g, " ")
        .trim()
        .slice(0, MAX_PREVIEW),
      size: raw.length,
      attachments: attachments.filter(({ inline }) => !inline).length,
      read: false,
      worker,
      parent,
      deliveries: kind === "received" ? to.slice(0, MAX_LISTED_RECIPIENTS).map((rcpt) => ({ to: rcpt })) : [],
      authentication: undefined,
    },
    keys: {
      from: keyText([from, ...listed(content?.from), ...listed(content?.replyTo)]),
      to: keyText([...to, ...listed(content?.to), ...listed(content?.cc)]),
      subject: keyText([subject]),
      text: keyText([visibleText, ...attachments.map(({ filename }) => filename ?? "")]),
    },
  };
}

const messageIdOf = (content: MessageContent | undefined): string | undefined => {
  const value = content?.headers.find(({ name }) => name.toLowerCase() === "message-id")?.value;
  return value === undefined ? undefined : clean(value).slice(0, MAX_SUBJECT);
};

/** PostgreSQL rejects U+0000 and lone surrogates. */
const clean = (text: string): string => text.replaceAll("\0", " ").toWellFormed();

const keyText = (texts: string[]): string => clean(texts.join("\n").toLowerCase());

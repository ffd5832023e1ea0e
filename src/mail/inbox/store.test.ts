import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { onEveryDatabase, type TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { openFsObjects } from "../../store/index.ts";
import { inboxMigrations } from "./messages-table.ts";
import { parseInboxSearch } from "./search.ts";
import { openInbox } from "./store.ts";
import type { NewInboxMessage } from "./types.ts";

const ACCOUNT = "a".repeat(32);
const OTHER = "b".repeat(32);
const PAGE = { page: 1, perPage: 100 };

async function open(
  t: TestContext,
  engine: TestEngine,
  bounds: { maxMessages?: number; maxBytes?: number; maxRowBytes?: number } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-inbox-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { db } = await engine.open(t, inboxMigrations);
  const objects = await openFsObjects({ folder });
  const clock = createManualClock(Date.UTC(2026, 4, 31, 12));
  const openAgain = () =>
    openInbox({ db, objects, clock, log: silentLog, maxMessages: 100, maxBytes: 1_000_000, maxWaiters: 2, ...bounds });
  const inbox = await openAgain();
  const add = async (raw: string, more: Partial<NewInboxMessage> = {}) => {
    const id = randomIds.hex();
    await inbox.add({
      id,
      account: ACCOUNT,
      kind: "received",
      status: "processing",
      from: "ada@example.com",
      to: ["inbox@example.org"],
      raw: () => Buffer.from(raw.replaceAll("\n", "\r\n")),
      ...more,
    });
    return id;
  };
  const subjects = async (query: string, account = ACCOUNT) =>
    (await inbox.list(account, parseInboxSearch(query), PAGE)).items.map(({ subject }) => subject).join(" ");
  const files = async () => (await readdir(join(folder, "mail", "inbox")).catch(() => [])).length;
  return { inbox, openAgain, add, subjects, files, folder, clock, objects };
}

onEveryDatabase((engine) => {
  describe("the inbox", () => {
    test("is searched by addresses, texts, properties and time", async (t) => {
      const { inbox, add, subjects, clock } = await open(t, engine);
      const received = await add(`From: Ünï <uni@example.com>\nTo: team@example.net\nSubject: One\n\n100% of_it`);
      clock.advance(3600_000);
      await add("Subject: Two\n\nHello World", { kind: "forwarded", parent: received, worker: "support" });
      await add(
        'Subject: Three\nContent-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/html\n\n<b>Bold</b>\n--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename="Invoice.pdf"\n\nx\n--b--\n',
        { from: "bob@example.com" },
      );
      await add("Subject: Other account\n\nHello", { account: OTHER });
      const cases: [string, string][] = [
        ["", "Three Two One"],
        ["hello", "Two"],
        ['"hello world"', "Two"],
        ['"world hello"', ""],
        ["from:ÜNÏ", "One"],
        ["from:bob@", "Three"],
        ["to:team@example.net", "One"],
        ["-to:team@example.net", "Three Two"],
        ["subject:t", "Three Two"],
        ["100%", "One"],
        ["1%it", ""],
        ["of_it", "One"],
        ["invoice.pdf has:attachment", "Three"],
        ["bold", "Three"],
        ["kind:forwarded", "Two"],
        ["worker:support", "Two"],
        ["-worker:support", "Three One"],
        [`cause:${received}`, "Two"],
        ["before:2026-05-31T12:30:00Z", "One"],
        ["after:2026-05-31T12:30:00Z", "Three Two"],
        ["is:unread status:processing", "Three Two One"],
        ["is:read", ""],
        ["\0", "Three Two One"],
      ];
      for (const [query, expected] of cases) assert.equal(await subjects(query), expected, query);
      assert.equal(await subjects("hello", OTHER), "Other account");
      assert.deepEqual(
        (await inbox.causedBy(ACCOUNT, received)).map(({ subject }) => subject),
        ["Two"],
      );
    });

    test("pages with the total, and hides messages of other accounts", async (t) => {
      const { inbox, add } = await open(t, engine);
      for (let n = 1; n <= 5; n++) await add(`Subject: ${n}\n\n`);
      const page = await inbox.list(ACCOUNT, [], { page: 2, perPage: 2 });
      assert.deepEqual([page.items.map(({ subject }) => subject), page.total], [["3", "2"], 5]);
      const { id } = page.items[0]!;
      await assert.rejects(inbox.get(OTHER, id), /not found/);
      await assert.rejects(inbox.raw(OTHER, id), /not found/);
      await assert.rejects(inbox.delete(OTHER, id), /not found/);
      await assert.rejects(inbox.get(ACCOUNT, "../x"), /not found/);
    });

    test("applies a change after the message is stored, and shows it to later reads", async (t) => {
      const { inbox, add } = await open(t, engine);
      const id = randomIds.hex();
      void add("Subject: s\n\n", { id });
      inbox.update(ACCOUNT, id, { status: "accepted", deliveries: [{ to: "x@y.example", outcome: "ok" }], read: true });
      const { status, deliveries, read } = await inbox.get(ACCOUNT, id);
      assert.deepEqual([status, deliveries, read], ["accepted", [{ to: "x@y.example", outcome: "ok" }], true]);
    });

    test("deletes the oldest messages and their content when a limit is exceeded", async (t) => {
      const { inbox, add, subjects, files } = await open(t, engine, { maxMessages: 3, maxBytes: 200, maxRowBytes: 0 });
      for (let n = 1; n <= 5; n++) await add(`Subject: ${n}\n\n`);
      assert.equal(await subjects(""), "5 4 3");
      assert.equal(await files(), 3);
      await add(`Subject: 6\n\n${"x".repeat(175)}`);
      assert.equal(await subjects(""), "6");
      assert.equal(await inbox.deleteMatching(ACCOUNT, parseInboxSearch("subject:6")), 1);
      assert.equal(await files(), 0);
    });

    test("keeps messages, and marks unfinished ones, after a restart", async (t) => {
      const { inbox, openAgain, add, objects, files } = await open(t, engine, { maxRowBytes: 0 });
      const finished = await add("Subject: finished\n\n");
      inbox.update(ACCOUNT, finished, { status: "accepted" });
      const unfinished = await add("Subject: unfinished\n\n");
      await inbox.close();
      await objects.put(`mail/inbox/${"f".repeat(32)}.eml`, Buffer.from("without a row"));
      const again = await openAgain();
      assert.deepEqual(
        (await again.list(ACCOUNT, [], PAGE)).items.map(({ id, status }) => [id, status]),
        [
          [unfinished, "interrupted"],
          [finished, "accepted"],
        ],
      );
      assert.equal(await files(), 2);
    });

    test("ends a wait on a match, a timeout, an abort or shutdown, and limits the number of waits", async (t) => {
      const { inbox, add } = await open(t, engine);
      const wait = (query: string, timeoutMs: number, signal?: AbortSignal) =>
        inbox.wait(ACCOUNT, parseInboxSearch(query), { count: 1, timeoutMs, page: PAGE, ...(signal && { signal }) });
      const matching = wait("subject:wanted", 60_000);
      await add("Subject: other\n\n");
      await add("Subject: wanted\n\n");
      assert.equal((await matching).total, 1);
      assert.equal((await wait("subject:never", 1)).total, 0);
      const gone = new AbortController();
      const aborted = wait("subject:never", 60_000, gone.signal);
      const closed = wait("subject:never", 60_000);
      await assert.rejects(wait("subject:never", 1), /2 requests are already waiting/);
      gone.abort();
      assert.equal((await aborted).total, 0);
      await inbox.close();
      assert.equal((await closed).total, 0);
    });

    test("stores a spooled message from its file, which can then be deleted", async (t) => {
      const { inbox, add, subjects, folder } = await open(t, engine);
      const file = join(folder, "spooled");
      await writeFile(file, `Subject: large\r\n\r\n${"x".repeat(200_000)}`);
      const id = await add("", { file, raw: () => assert.fail("reads the message") });
      await rm(file);
      assert.equal(await subjects("large"), "large");
      assert.equal((await inbox.get(ACCOUNT, id)).size, 200_018);
      assert.equal((await inbox.raw(ACCOUNT, id)).length, 200_018);
    });

    test("indexes messages when they are first read, even after a restart", async (t) => {
      const { inbox, openAgain, add } = await open(t, engine, { maxMessages: 1000 });
      for (let n = 1; n <= 120; n++) await add(`Subject: number ${n}\n\nbody`);
      await inbox.close();
      const again = await openAgain();
      const { items, total } = await again.list(ACCOUNT, parseInboxSearch("body"), PAGE);
      assert.deepEqual([items[0]!.subject, items[0]!.preview, total], ["number 120", "body", 120]);
    });

    test("stores small messages in their row and large ones as objects", async (t) => {
      const { inbox, add, files } = await open(t, engine, { maxRowBytes: 20 });
      const [small, large] = [await add("Subject: a\n\n"), await add(`Subject: b\n\n${"x".repeat(20)}`)];
      assert.equal(await files(), 1);
      const lengths = [small, large].map(async (id) => (await inbox.raw(ACCOUNT, id)).length);
      assert.deepEqual(await Promise.all(lengths), [14, 34]);
      await inbox.delete(ACCOUNT, large);
      assert.equal(await files(), 0);
    });

    test("stores many messages at the same time, in the order of their arrival", async (t) => {
      const { inbox, add } = await open(t, engine);
      await Promise.all(Array.from({ length: 40 }, (_, n) => add(`Subject: ${n}\n\n`)));
      assert.deepEqual(
        (await inbox.list(ACCOUNT, [], PAGE)).items.map(({ subject }) => Number(subject)),
        Array.from({ length: 40 }, (_, n) => 39 - n),
      );
    });

    test("keeps a message that cannot be parsed, and reports why", async (t) => {
      const { inbox, add } = await open(t, engine);
      const nested = Array.from(
        { length: 60 },
        (_, n) => `Content-Type: multipart/mixed; boundary="b${n}"\n\n--b${n}\n`,
      ).join("");
      const id = await add(nested);
      assert.equal((await inbox.get(ACCOUNT, id)).subject, "");
      await assert.rejects(inbox.content(ACCOUNT, id), /Cannot parse message/);
      assert.match(Buffer.from(await inbox.raw(ACCOUNT, id)).toString(), /^Content-Type/);
    });
  });
});

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { columnsOf, multiply } from "../../../../test/growth/subject.ts";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { UserError } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import type { OutboundTables } from "./migrations.ts";
import {
  DAY,
  MINUTE,
  NOON,
  controlledAgent,
  until,
  largeMail,
  largeText,
  keysOf,
  mail,
  openOn,
  stateOf,
} from "./queue.testing.ts";

/** Tests which messages the outbound queue accepts, and what it stores and lists, on every database engine. */
export function queueConformance(engine: TestEngine): void {
  const open = openOn(engine);

  describe("a queued message", () => {
    test("is on disk when accepted, is delivered, and afterwards only its record is kept", async (t) => {
      const { start, bodies, events, objects } = await open(t);
      const { agent, nth } = controlledAgent();
      const service = await start(agent);
      const { id, rejected } = await service.enqueue(
        mail(["b@there.example"], {
          account: "acc",
          zone: "zon",
          script: "s",
          inbound: { id: "in", rcpt: "first@here.example" },
          senderAuthenticated: true,
          cause: "forward",
          dsn: {
            ret: "HDRS",
            envid: "e",
            to: { "b@there.example": { notify: ["FAILURE"], orcpt: "rfc822;o@x.example" } },
          },
        }),
      );
      assert.deepEqual(rejected, []);
      assert.equal((await bodies()).length, 1);
      assert.deepEqual(await keysOf(objects), [], "a small body is stored in the database");
      const delivery = await nth(1);
      assert.deepEqual([delivery.domain, delivery.raw], ["there.example", "Subject: x\r\n\r\nhello\r\n"]);
      assert.deepEqual(
        { ...delivery.parcel, body: undefined },
        {
          from: "a@here.example",
          own: false,
          to: [{ rcpt: "b@there.example", notify: ["FAILURE"], orcpt: "rfc822;o@x.example" }],
          body: undefined,
          ret: "HDRS",
          envid: "e",
        },
      );
      assert.equal(await stateOf(service, id!), "delivering");
      delivery.end();
      await until(async () => !(await service.get(id!))!.message.hasBody && (await bodies()).length === 0);
      const found = (await service.get(id!))!;
      assert.deepEqual(
        [
          found.message.account,
          found.message.zone,
          found.message.script,
          found.message.inbound,
          found.message.senderAuthenticated,
          found.message.cause,
          found.message.hasBody,
        ],
        ["acc", "zon", "s", { id: "in", rcpt: "first@here.example" }, true, "forward", false],
      );
      assert.deepEqual(
        found.recipients.map(({ state, attempts, reply, host }) => ({ state, attempts, reply, host })),
        [
          {
            state: "delivered",
            attempts: 1,
            reply: { code: 250, enhanced: "2.0.0", text: "taken" },
            host: "mx.there.example",
          },
        ],
      );
      assert.deepEqual(
        events.map(({ message, step, rcpt }) => `${message} ${step} ${rcpt}`),
        ["in queued first@here.example", "in delivered first@here.example"],
      );
      for (const { account, zone, detail } of events)
        assert.deepEqual([account, zone, detail["outbound"], detail["to"]], ["acc", "zon", id, "b@there.example"]);
      assert.equal(events[1]!.detail["text"], "taken");
    });

    test("is stored as an object if large, complete however it was chunked, and is deleted like any other", async (t) => {
      const { start, objects, bodies } = await open(t);
      const { agent, deliveries } = controlledAgent({ answer: ({ end }) => end() });
      const service = await start(agent, { run: false });
      const inPieces = () =>
        Readable.from(
          [Buffer.from(largeText.slice(0, 70)), Buffer.from(largeText.slice(70, -1)), Buffer.from(largeText.slice(-1))],
          { objectMode: false },
        );
      const shortPieces = () =>
        Readable.from([Buffer.from("Subject: s\r\n"), Buffer.from("\r\nshort\r\n")], { objectMode: false });
      const ids = [];
      for (const raw of [inPieces, () => Buffer.from(largeText), shortPieces])
        ids.push((await service.enqueue(mail([`b${ids.length}@there.example`], { raw }))).id!);
      assert.equal((await keysOf(objects)).length, 2);
      service.start();
      for (const id of ids)
        await until(
          async () => (await service.get(id))!.message.finishedAt !== undefined && (await bodies()).length === 0,
        );
      assert.deepEqual(
        deliveries.map(({ raw }) => raw).sort(),
        [largeText, largeText, "Subject: s\r\n\r\nshort\r\n"].sort(),
      );
    });

    test("is rejected if the input ends prematurely, and leaves nothing behind", async (t) => {
      const { start, bodies } = await open(t);
      const service = await start(controlledAgent().agent, { run: false });
      async function* broken(text: string) {
        yield Buffer.from(text);
        throw new Error("gone");
      }
      for (const text of ["Subject: x", largeText])
        await assert.rejects(
          service.enqueue(mail(["b@there.example"], { raw: () => Readable.from(broken(text), { objectMode: false }) })),
          /gone/,
        );
      assert.deepEqual([(await bodies()).length, (await service.list({})).items], [0, []]);
    });

    test("shares a commit with concurrent messages", async (t) => {
      const { start, db } = await open(t);
      const service = await start(controlledAgent().agent, { run: false });
      const all = await Promise.all(
        Array.from({ length: 250 }, (_, n) =>
          service.enqueue(
            mail([`b${n}@there.example`, `c${n}@there.example`], { raw: () => Buffer.from(`Subject: ${n}\r\n\r\n`) }),
          ),
        ),
      );
      assert.equal((await service.list({ limit: 1000 })).items.length, 500);
      const rows = await db.tables<OutboundTables>().selectFrom("outbound_bodies").selectAll().execute();
      const texts = new Map(rows.map(({ message_id, body }) => [message_id, Buffer.from(body).toString()]));
      assert.deepEqual(
        all.map(({ id }) => texts.get(id!)),
        Array.from({ length: 250 }, (_, n) => `Subject: ${n}\r\n\r\n`),
      );
    });

    test("is found by the inbound message that it forwards", async (t) => {
      const { start } = await open(t);
      const service = await start(controlledAgent().agent, { run: false });
      const ids = [];
      for (const n of [1, 2, 3])
        ids.push(
          (
            await service.enqueue(
              mail(["b@there.example", "c@there.example"], { inbound: { id: `in${n}`, rcpt: "box@here.example" } }),
            )
          ).id,
        );
      await service.enqueue(mail(["b@there.example"]));
      const found = (await service.ofInbound(["in1", "in3", "in9"])).sort((a, b) =>
        a.message.inbound!.id < b.message.inbound!.id ? -1 : 1,
      );
      assert.deepEqual(
        found.map(({ message, recipients }) => [message.id, message.inbound, recipients.length]),
        [
          [ids[0], { id: "in1", rcpt: "box@here.example" }, 2],
          [ids[2], { id: "in3", rcpt: "box@here.example" }, 2],
        ],
      );
      assert.deepEqual(await service.ofInbound([]), []);
    });

    test("traces a report about several recipients without listing a recipient", async (t) => {
      const { start, events } = await open(t);
      const service = await start(controlledAgent().agent, { run: false });
      await service.enqueue(mail(["a@there.example"], { cause: "reply", inbound: { id: "in1" } }));
      await service.enqueue(
        mail(["a@there.example"], { cause: "reply", inbound: { id: "in2", rcpt: "box@here.example" } }),
      );
      await service.enqueue(mail(["a@there.example"]));
      assert.deepEqual(
        events.map(({ rcpt }) => rcpt),
        [undefined, "box@here.example", "a@there.example"],
      );
    });

    test("is rejected without recipients or with an invalid sender, and returns its invalid recipients", async (t) => {
      const { start, bodies } = await open(t);
      const service = await start(controlledAgent().agent, { run: false });
      await assert.rejects(service.enqueue(mail([])), (err) => err instanceof UserError && err.kind === "noRecipients");
      await assert.rejects(
        service.enqueue(mail(["b@there.example"], { from: "a@b\r\nRCPT TO:<x@y>" })),
        (err) => err instanceof UserError && err.kind === "senderInvalid",
      );
      const { id, rejected } = await service.enqueue(mail(["b@there.example", "not one", "c@there.example>\r\nDATA"]));
      assert.deepEqual(
        rejected.map(({ outcome, reply }) => [outcome, reply.code, reply.enhanced]),
        [
          ["permanent", 553, "5.1.3"],
          ["permanent", 553, "5.1.3"],
        ],
      );
      assert.equal((await service.get(id!))!.recipients.length, 1);
      assert.equal((await bodies()).length, 1);
    });

    test("is rejected if it cannot be stored", async (t) => {
      const { start, objects } = await open(t);
      const full: ObjectStore = {
        ...objects,
        put: () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" })),
      };
      const service = await start(controlledAgent().agent, { objects: full });
      await assert.rejects(service.enqueue(largeMail(["b@there.example"])));
      assert.deepEqual(
        (await service.queue.deliver(largeMail(["b@there.example"]))).map(
          (one) => !one.ok && [one.temporary, one.reply.code, one.reply.enhanced],
        ),
        [[true, 452, "4.3.1"]],
      );
      assert.deepEqual((await service.list({})).items, []);
    });

    test("is deferred when the queue is full", async (t) => {
      const { start, clock } = await open(t);
      const service = await start(controlledAgent().agent, { run: false, limits: { maxQueued: 3 } });
      await service.enqueue(mail(["a@there.example", "b@there.example", "c@there.example"]));
      clock.advance(11_000);
      await assert.rejects(
        service.enqueue(mail(["d@there.example"])),
        (err) => err instanceof UserError && err.kind === "queueFull" && err.entry.smtp === 452,
      );
    });
  });

  test("is listed only to its account, newest first, by page", async (t) => {
    const { start, clock } = await open(t);
    const service = await start(controlledAgent().agent, { run: false });
    for (let n = 0; n < 7; n++) {
      await service.enqueue(mail([`b${n}@d${n % 2}.example`], { account: "mine" }));
      if (n % 3 === 0) clock.advance(1);
    }
    await service.enqueue(mail(["other@there.example"], { account: "other" }));
    await service.enqueue(mail(["own@there.example"]));
    const all: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await service.list({ account: "mine", limit: 3, ...(after !== undefined && { after }) });
      all.push(...page.items.map(({ rcpt }) => rcpt));
      if ((after = page.next) === undefined) break;
    }
    assert.deepEqual(
      all.toSorted(),
      Array.from({ length: 7 }, (_, n) => `b${n}@d${n % 2}.example`),
    );
    assert.equal(all.at(-1), "b0@d0.example");
    assert.equal((await service.list({ account: "mine", domain: "d1.example" })).items.length, 3);
    assert.equal((await service.list({ account: "mine", state: "delivered" })).items.length, 0);
    assert.deepEqual(
      (await service.list({})).items.map(({ rcpt, message }) => [rcpt, message.from]),
      [["own@there.example", "a@here.example"]],
    );
  });

  describe("housekeeping", () => {
    test("deletes bodies without a message, and no others", async (t) => {
      const { start, objects, clock, bodies } = await open(t);
      const service = await start(controlledAgent().agent, { run: false });
      await service.enqueue(largeMail(["b@there.example"]));
      await objects.put("mail/out/2025-12-01/0123456789abcdef0123456789abcdef.eml", Buffer.from("orphan"));
      await objects.put("mail/2025-12-01/of-others.eml", Buffer.from("not ours"));
      assert.equal((await bodies()).length, 3);
      clock.advance(3 * DAY);
      service.start();
      await until(async () => (await bodies()).length === 2);
    });

    test("marks a message as done after its process died, even behind more messages than one statement reads", async (t) => {
      const { start, db, clock } = await open(t);
      const service = await start(controlledAgent().agent, { run: false });
      await service.enqueue(mail(["b@there.example"]));
      const later = sql`${sql.lit(NOON + DAY)}`;
      const { orderedId: id } = columnsOf(db);
      await db.write(
        db
          .tables<OutboundTables>()
          .updateTable("outbound_recipients")
          .set({ next_try: NOON + DAY }),
      );
      await multiply(db, "outbound_messages", 1200, { id });
      await multiply(db, "outbound_recipients", 1200, { id, message_id: id, next_try: later });
      clock.advance(1);
      const { id: done } = await service.enqueue(mail(["b@there.example"]));
      await db.write(
        db
          .tables<OutboundTables>()
          .updateTable("outbound_recipients")
          .set({ state: "delivered", next_try: null, finished_at: NOON })
          .where("message_id", "=", done!),
      );
      clock.advance(6 * MINUTE);
      service.start();
      await until(async () => (await service.get(done!))!.message.finishedAt !== undefined);
    });

    test("reports a missing body as a failure instead of keeping its message queued forever", async (t) => {
      const { start, objects, failures, bodies } = await open(t);
      const service = await start(controlledAgent().agent, { run: false });
      const { id } = await service.enqueue(largeMail(["b@there.example"]));
      await objects.delete(await bodies());
      service.start();
      await until(() => failures.length === 1);
      assert.equal(await stateOf(service, id!), "failed");
    });
  });
}

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { readBounce } from "../../protocol/dsn/index.ts";
import type { DsnEvent, DsnRequest } from "../messages/index.ts";
import { envelopeOf, MAIL, NOON, openBounces, until } from "./bounces.testing.ts";

const HOUR = 3_600_000;

/** Tests notifications about delayed mail, relayed mail and mail that was never queued. */
export function delayNotificationsConformance(engine: TestEngine): void {
  const open = openBounces(engine);

  describe("delayed mail", () => {
    test("is reported once after four hours if NOTIFY=DELAY was requested, and not earlier", async (t) => {
      const { outbound, bounces, srs, sink, clock } = await open(t, {
        rules: { rcpt: (to) => (to.endsWith("@example.net") ? "450 4.2.1 try later" : undefined) },
      });
      const path = srs.forward("alice@example.org", NOON);
      assert.ok(path.ok);
      const requestOf = (notify?: DsnEvent[]): DsnRequest => ({
        envid: "E1",
        to: { "bob@example.net": { orcpt: "rfc822;info@here.example", ...(notify && { notify }) } },
      });
      for (const notify of [["DELAY", "FAILURE"] satisfies DsnEvent[], ["FAILURE"] satisfies DsnEvent[], undefined]) {
        await outbound.enqueue({
          messageId: "<x@fwd.example>",
          cause: "forward",
          from: path.address,
          to: ["bob@example.net"],
          raw: () => Buffer.from(MAIL),
          inbound: { id: "in1", rcpt: "info@here.example" },
          dsn: requestOf(notify),
        });
      }
      await until(async () => (await outbound.list({ state: "deferred" })).items.length === 3);
      clock.advance(4 * HOUR - 1);
      await bounces.sweep();
      assert.equal((await outbound.list({})).items.length, 3);
      clock.advance(1);
      for (let n = 0; n < 3; n++) await bounces.sweep();
      await until(() => sink.mails.length > 0);
      assert.deepEqual(
        sink.mails.map(({ from, to }) => [from, to]),
        [["", ["alice@example.org"]]],
      );
      const { recipients, envelopeId } = readBounce(Buffer.from(sink.mails[0]!.raw, "latin1"))!;
      assert.deepEqual(
        [envelopeId, recipients],
        [
          "E1",
          [{ address: "info@here.example", action: "delayed", status: "4.2.1", diagnostic: "450 4.2.1 try later" }],
        ],
      );
      assert.match(sink.mails[0]!.raw, /Will-Retry-Until: Sat, 10 Jan 2026 12:00:00 \+0000/);
    });
  });

  describe("relayed mail", () => {
    test("is reported as relayed if NOTIFY=SUCCESS was requested and the next hop does not support DSN", async (t) => {
      const { outbound, bounces, srs, sink, clock, drained } = await open(t, { rules: { hideDSN: true } });
      const path = srs.forward("alice@example.org", NOON);
      assert.ok(path.ok);
      for (const notify of [["SUCCESS"], ["FAILURE"]] satisfies DsnEvent[][]) {
        await outbound.enqueue({
          messageId: "<x@fwd.example>",
          cause: "forward",
          from: path.address,
          to: ["bob@example.net"],
          raw: () => Buffer.from(MAIL),
          dsn: { to: { "bob@example.net": { notify } } },
        });
      }
      await drained();
      clock.advance(1000);
      for (let n = 0; n < 3; n++) await bounces.sweep();
      await drained();
      const reports = sink.mails.filter(({ to }) => to[0] === "alice@example.org");
      assert.deepEqual(
        reports.map(({ from, raw }) => [
          from,
          readBounce(Buffer.from(raw, "latin1"))!.recipients.map(
            ({ address, action, status }) => `${address} ${action} ${status}`,
          ),
        ]),
        [["", ["bob@example.net relayed 2.0.0"]]],
      );
    });
  });

  describe("mail relayed to a server with DSN support", () => {
    test("is left to that server, which receives the NOTIFY parameters", async (t) => {
      const { outbound, bounces, srs, sink, clock, drained } = await open(t);
      const path = srs.forward("alice@example.org", NOON);
      assert.ok(path.ok);
      await outbound.enqueue({
        messageId: "<x@fwd.example>",
        cause: "forward",
        from: path.address,
        to: ["bob@example.net"],
        raw: () => Buffer.from(MAIL),
        dsn: { envid: "E1", to: { "bob@example.net": { notify: ["SUCCESS"] } } },
      });
      await drained();
      clock.advance(1000);
      await bounces.sweep();
      await drained();
      assert.deepEqual(
        sink.mails.map(({ to, args, rcptArgs }) => [to, args["ENVID"], rcptArgs[0]!["NOTIFY"]]),
        [[["bob@example.net"], "E1", "SUCCESS"]],
      );
    });
  });

  describe("an accepted message that cannot be processed", () => {
    const failed = [{ rcpt: "info@here.example", reply: { code: 554, enhanced: "5.4.6", text: "it goes round" } }];
    const request = (from: string, more: { senderAuthenticated?: boolean; dsn?: DsnRequest } = {}) => ({
      account: "acc",
      inbound: { id: "in1" },
      envelope: { ...envelopeOf(from, ["info@here.example"]), ...(more.dsn && { dsn: more.dsn }) },
      senderAuthenticated: more.senderAuthenticated ?? true,
      recipients: failed,
      arrivedAt: new Date(NOON),
    });

    test("is reported once, only to an authenticated sender that requested it", async (t) => {
      const { bounces, source, sink, drained, clock } = await open(t);
      const message = source(MAIL);
      const bounce = (from: string, more: Parameters<typeof request>[1] = {}) =>
        bounces.bounce({ ...request(from, more), source: message });
      assert.equal(await bounce(""), false);
      assert.equal(await bounce("alice@example.org", { senderAuthenticated: false }), false);
      assert.equal(
        await bounce("alice@example.org", { dsn: { to: { "info@here.example": { notify: ["NEVER"] } } } }),
        false,
      );
      assert.equal(
        await bounce("alice@example.org", {
          dsn: { ret: "FULL", envid: "E2", to: { "info@here.example": { orcpt: "rfc822;old@here.example" } } },
        }),
        true,
      );
      assert.equal(await bounce("alice@example.org"), true);
      await drained();
      assert.equal(sink.mails.length, 1);
      assert.deepEqual(readBounce(Buffer.from(sink.mails[0]!.raw, "latin1")), {
        kind: "report",
        reportingMta: "mx.fwd.example",
        envelopeId: "E2",
        messageId: "<first@example.org>",
        recipients: [
          {
            address: "info@here.example",
            original: "old@here.example",
            action: "failed",
            status: "5.4.6",
            diagnostic: "554 5.4.6 it goes round",
          },
        ],
      });
      assert.match(sink.mails[0]!.raw, /Arrival-Date: Mon, 5 Jan 2026/);
      assert.match(sink.mails[0]!.raw, /the body/);
      clock.advance(HOUR);
    });

    test("is reported later if its report cannot be queued", async (t) => {
      let broken = true;
      const { bounces, source } = await open(t, {
        bounces: {
          queue: {
            deliver: async ({ to }) =>
              to.map((rcpt) =>
                broken
                  ? { rcpt, ok: false, temporary: true, reply: { code: 452, enhanced: "4.3.1", text: "full" } }
                  : { rcpt, ok: true },
              ),
          },
        },
      });
      const message = source(MAIL);
      await assert.rejects(
        bounces.bounce({ ...request("alice@example.org"), source: message }),
        /could not be queued: full/,
      );
      broken = false;
      assert.equal(await bounces.bounce({ ...request("alice@example.org"), source: message }), true);
    });
  });
}

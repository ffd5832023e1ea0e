import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { readBounce } from "../../protocol/dsn/index.ts";
import { headerValue, readHeader } from "../../protocol/rfc5322/index.ts";
import type { DsnRequest, Outbound } from "../messages/index.ts";
import { DAY, MAIL, NOON, openBounces, until } from "./bounces.testing.ts";

const forward = (from: string, to: string, more: Partial<Outbound> = {}): Outbound => ({
  messageId: "<x@fwd.example>",
  cause: "forward",
  from,
  to: [to],
  raw: () => Buffer.from(MAIL),
  inbound: { id: "in1", rcpt: "info@here.example" },
  account: "acc",
  ...more,
});

const noSuchUser = {
  rcpt: (to: string) => (to.startsWith("no-") ? "550 5.1.1 <no-bob@example.net>: no such user no-bob here" : undefined),
};

/** Tests reports about mail that failed in the queue. */
export function failuresConformance(engine: TestEngine): void {
  const open = openBounces(engine);

  describe("a forward that fails in the queue", () => {
    test("is reported to the original sender, with a null sender, signed, and without the forward destination", async (t) => {
      const { outbound, bounces, srs, sink, drained, events } = await open(t, { rules: noSuchUser });
      const path = srs.forward("alice@example.org", NOON);
      assert.ok(path.ok && bounces.isReturnPath(path.address));
      const dsn: DsnRequest = { envid: "QQ314", to: { "no-bob@example.net": { orcpt: "rfc822;info@here.example" } } };
      await outbound.enqueue(forward(path.address, "no-bob@example.net", { dsn }));
      await drained();
      assert.deepEqual(
        sink.mails.map(({ from, to }) => ({ from, to })),
        [{ from: "", to: ["alice@example.org"] }],
      );
      const raw = Buffer.from(sink.mails[0]!.raw, "latin1");
      const bounce = readBounce(raw)!;
      assert.deepEqual(bounce, {
        kind: "report",
        reportingMta: "mx.fwd.example",
        envelopeId: "QQ314",
        messageId: "<first@example.org>",
        recipients: [
          {
            address: "info@here.example",
            action: "failed",
            status: "5.1.1",
            diagnostic: "550 5.1.1 <info@here.example>: no such user info here",
          },
        ],
      });
      assert.doesNotMatch(raw.toString("latin1"), /no-bob|the body/);
      const header = readHeader(raw.subarray(0, raw.indexOf("\r\n\r\n")));
      assert.ok(header.ok);
      assert.match(headerValue(header.fields, "dkim-signature")!, /d=fwd\.example/);
      assert.equal(headerValue(header.fields, "auto-submitted"), "auto-replied");
      const replied = events.find(({ step }) => step === "replied")!;
      assert.deepEqual(
        [replied.message, replied.rcpt, replied.account, replied.detail["to"], replied.detail["report"]],
        ["in1", "info@here.example", "acc", "alice@example.org", "failed"],
      );
    });

    test("generates no report if the sender is null, unknown, or has disabled reports", async (t) => {
      const { outbound, bounces, srs, sink, drained, clock } = await open(t, { rules: noSuchUser });
      const srsPath = srs.forward("alice@example.org", clock.now());
      assert.ok(srsPath.ok);
      const unknown = await bounces.pathFor({
        sender: "stranger@example.org",
        senderAuthenticated: false,
        inbound: { id: "in2", rcpt: "info@here.example" },
      });
      for (const from of ["", "stranger@example.org", unknown, srsPath.address.replace("alice", "mallory")])
        await outbound.enqueue(forward(from, "no-bob@example.net"));
      await outbound.enqueue(
        forward(srsPath.address, "no-bob@example.net", {
          dsn: { to: { "no-bob@example.net": { notify: ["NEVER"] } } },
        }),
      );
      await outbound.enqueue(
        forward(srsPath.address, "no-bob@example.net", {
          dsn: { to: { "no-bob@example.net": { notify: ["SUCCESS", "DELAY"] } } },
        }),
      );
      await drained();
      assert.deepEqual(sink.mails, []);
    });

    test("is reported through a stored path, with the full message if RET=FULL was requested", async (t) => {
      const { outbound, bounces, sink, drained } = await open(t, { rules: noSuchUser });
      const long = `${"x".repeat(60)}@example.org`;
      const path = await bounces.pathFor({
        sender: long,
        senderAuthenticated: true,
        inbound: { id: "in1", rcpt: "info@here.example" },
      });
      await outbound.enqueue(forward(path, "no-bob@example.net", { dsn: { ret: "FULL" } }));
      await drained();
      assert.deepEqual(
        sink.mails.map(({ to }) => to),
        [[long]],
      );
      assert.match(sink.mails[0]!.raw, /Content-Type: message\/rfc822\r\n[^]*Subject: hello\r\n\r\nthe body\r\n/);
    });

    test("is reported only once if its report bounces", async (t) => {
      const { outbound, srs, sink, drained, clock } = await open(t, {
        rules: { rcpt: () => "550 5.1.1 nobody is here" },
      });
      const path = srs.forward("alice@dead.example", clock.now());
      assert.ok(path.ok);
      await outbound.enqueue(forward(path.address, "no-bob@example.net"));
      await drained();
      const { items } = await outbound.list({ account: "acc" });
      assert.deepEqual(items.map(({ rcpt, state, message }) => `${message.from} ${rcpt} ${state}`).sort(), [
        " alice@dead.example failed",
        `${path.address} no-bob@example.net failed`,
      ]);
      assert.equal(sink.mails.length, 0);
    });

    test("generates a limited number of reports per hour to one sender; the rest are sent later", async (t) => {
      const { outbound, srs, sink, drained, clock } = await open(t, {
        rules: noSuchUser,
        limits: { reportsPerSender: 5 },
      });
      const path = srs.forward("alice@example.org", clock.now());
      assert.ok(path.ok);
      for (let n = 0; n < 8; n++) await outbound.enqueue(forward(path.address, "no-bob@example.net"));
      const count = async (state: "failed" | "delivered") =>
        (await outbound.list({ account: "acc", state })).items.length;
      // A report that the sink has received but the queue has not recorded would be sent twice when its lease expires
      // after an hour.
      await until(async () => (await count("failed")) === 8 && (await count("delivered")) >= 5);
      assert.equal(sink.mails.length, 5);
      clock.advance(DAY / 24);
      await drained();
      assert.equal(sink.mails.length, 8);
    });

    test("is reported once, even if the queue reports the failure repeatedly", async (t) => {
      const { bounces, outbound, srs, sink, drained, clock } = await open(t);
      const path = srs.forward("alice@example.org", clock.now());
      assert.ok(path.ok);
      const failure = {
        message: {
          id: "m1",
          account: undefined,
          zone: undefined,
          cause: "forward" as const,
          from: path.address,
          messageId: "<x@fwd.example>",
          script: undefined,
          inbound: undefined,
          senderAuthenticated: true,
          size: 10,
          hasBody: true,
          createdAt: new Date(NOON),
          finishedAt: undefined,
        },
        recipients: ["a", "b"].map((name) => ({
          rcpt: `${name}@example.net`,
          state: "failed" as const,
          reply: { code: 550, enhanced: "5.1.1", text: "no" },
          host: "mx.example.net [192.0.2.7]:25",
          attempts: 1,
        })),
        dsn: {},
        open: async () => Buffer.from(MAIL),
      };
      await bounces.onFailed({ ...failure, recipients: failure.recipients.slice(0, 1) });
      await Promise.all([bounces.onFailed(failure), bounces.onFailed(failure)]);
      await bounces.onFailed(failure);
      await drained();
      // The queue delivers both reports concurrently.
      assert.deepEqual(
        sink.mails
          .map(({ raw }) =>
            readBounce(Buffer.from(raw, "latin1"))!.recipients.map(
              ({ address, remoteMta }) => `${address} ${remoteMta}`,
            ),
          )
          .sort(),
        [["a@example.net mx.example.net"], ["b@example.net mx.example.net"]],
      );
      assert.equal((await outbound.list({})).items.length, 2);
    });
  });

  describe("mail of an account that fails in the queue", () => {
    test("suppresses nonexistent addresses for a week, temporarily failing ones for a day, and none for a rejected message", async (t) => {
      const refusals: Record<string, string> = {
        gone: "550 5.1.1 no such user",
        full: "552 5.2.2 mailbox full",
        spam: "550 5.7.1 looks like spam",
      };
      const { outbound, bounces, sink, drained, entries, clock } = await open(t, {
        rules: { rcpt: (to) => refusals[to.split("@")[0]!] },
      });
      const to = Object.keys(refusals).map((name) => `${name}@example.net`);
      const [from] = (await bounces.pathsFor({
        account: "acc",
        domain: "here.example",
        messageId: "<s@here.example>",
        to,
        from: "app@here.example",
      })) as [string];
      await outbound.enqueue({
        messageId: "<s@here.example>",
        cause: "send",
        from,
        to,
        account: "acc",
        raw: () => Buffer.from(MAIL),
      });
      await drained();
      assert.deepEqual(
        entries
          .map(({ account, email, reason, expiresAt }) => [
            account,
            email,
            reason,
            (expiresAt!.getTime() - clock.now()) / DAY,
          ])
          .sort(),
        [
          ["acc", "full@example.net", "soft_bounce", 1],
          ["acc", "gone@example.net", "hard_bounce", 7],
        ],
      );
      assert.deepEqual(sink.mails, [], "failures are logged; a report is sent only if NOTIFY requested one");
    });

    test("is reported to its sender if NOTIFY=FAILURE was requested", async (t) => {
      const { outbound, bounces, sink, drained } = await open(t, { rules: noSuchUser });
      const [from] = (await bounces.pathsFor({
        account: "acc",
        domain: "here.example",
        messageId: "<s@here.example>",
        to: ["no-bob@example.net"],
        from: "app@example.org",
      })) as [string];
      await outbound.enqueue({
        messageId: "<s@here.example>",
        cause: "send",
        from,
        to: ["no-bob@example.net"],
        account: "acc",
        raw: () => Buffer.from(MAIL),
        dsn: { to: { "no-bob@example.net": { notify: ["FAILURE"] } } },
      });
      await drained();
      assert.deepEqual(
        sink.mails.map(({ to }) => to),
        [["app@example.org"]],
      );
      assert.match(sink.mails[0]!.raw, /Final-Recipient: rfc822; no-bob@example\.net/);
    });
  });
}

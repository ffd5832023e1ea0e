import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createSrs } from "../../protocol/srs/index.ts";
import { bounceOf, complaintOf, DAY, NOON, openBounces, type BouncesFixture } from "./bounces.testing.ts";

const NOT_AUTHENTICATED = "550 5.7.26 Feedback report rejected: its author is not authenticated";
const ONLY_REPORTS = "550 5.7.1 This address accepts delivery reports only";
const NO_SUCH = "550 5.1.1 Unknown return path";
const EXPIRED = "550 5.1.1 Return path expired";

const sentTo = ({ bounces }: BouncesFixture, to: string[]) =>
  bounces.pathsFor({
    account: "acc",
    zone: "zone",
    domain: "Here.Example",
    messageId: "<sent@here.example>",
    message: "m1",
    to,
    from: "app@here.example",
  });
const sent = async (fixture: BouncesFixture): Promise<string> => (await sentTo(fixture, ["bob@example.net"]))[0]!;

/** Tests the processing of mail to return paths. */
export function bounceProcessorConformance(engine: TestEngine): void {
  const open = openBounces(engine);

  describe("a bounce to an SRS address", () => {
    test("is returned through two forwarders to the first sender, with a null sender at every hop", async (t) => {
      const first = createSrs({ domain: "two.example", keys: ["other"] }).forward("alice@example.org", NOON);
      assert.ok(first.ok);
      const { srs, take, drained, sink } = await open(t);
      const again = srs.forward(first.address, NOON);
      assert.ok(again.ok && again.address.startsWith("SRS1="));
      // Relays change the case of local parts.
      assert.equal(await take(again.address.toLowerCase(), bounceOf("info@here.example")), "ok");
      await drained();
      assert.deepEqual(
        sink.mails.map(({ from, to }) => [from, to.map((one) => one.toLowerCase())]),
        [["", [first.address.toLowerCase()]]],
      );

      const other = await open(t, {
        forwardDomain: "two.example",
        bounces: { srs: createSrs({ domain: "two.example", keys: ["other"] }) },
      });
      assert.equal(await other.take(sink.mails[0]!.to[0]!, sink.mails[0]!.raw), "ok");
      await other.drained();
      assert.deepEqual(
        other.sink.mails.map(({ from, to }) => [from, to]),
        [["", ["alice@example.org"]]],
      );
      assert.equal(
        other.sink.mails[0]!.raw.replace(/^(?:Received|X-)[^]*?\r\n(?=\S)/gm, ""),
        bounceOf("info@here.example"),
        "the reply of the remote server, byte for byte",
      );
    });

    test("rejects a message that is not a delivery report, whatever its sender", async (t) => {
      const { bounces, srs, take, drained, sink } = await open(t);
      const path = srs.forward("alice@example.org", NOON);
      assert.ok(path.ok);
      const long = `${"x".repeat(60)}@example.org`;
      const token = await bounces.pathFor({
        sender: long,
        senderAuthenticated: true,
        inbound: { id: "in1", rcpt: "info@here.example" },
      });
      const others = {
        "plain text": "From: x@spam.example\r\nSubject: hello\r\n\r\nBuy!\r\n",
        "an automatic reply":
          "From: bob@example.net\r\nSubject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nBack on Monday.\r\n",
        "a feedback report": complaintOf({ rcpt: "bob@example.net" }),
        "a report without a recipient": bounceOf("bob@example.net").replace(/Final-Recipient.*\r\n/, ""),
        "no header": "no header at all",
      };
      for (const [what, text] of Object.entries(others))
        for (const rcpt of [path.address, token]) assert.equal(await take(rcpt, text), ONLY_REPORTS, what);
      const qmail =
        "From: MAILER-DAEMON@old.example\r\nSubject: failure notice\r\nMessage-ID: <q@x>\r\n\r\nHi. This is the qmail-send program.\r\n\r\n<bob@example.net>:\r\n550 sorry\r\n";
      for (const rcpt of [path.address, token]) assert.equal(await take(rcpt, qmail), "ok");
      await drained();
      assert.deepEqual(sink.mails.map(({ to }) => to[0]).sort(), ["alice@example.org", long]);
    });

    test("is rejected at RCPT if the address is forged or expired, or the sender is not null", async (t) => {
      const { bounces, srs, take, clock, drained, sink } = await open(t);
      const path = srs.forward("alice@example.org", NOON);
      assert.ok(path.ok);
      const refused = async (rcpt: string, from: string) => (await bounces.check(rcpt, { from }))?.text;
      const forged = path.address.replace("alice", "mallory");
      assert.equal(await refused(path.address, ""), undefined);
      assert.match((await refused(forged, ""))!, /Unknown return path/);
      assert.equal(await take(forged, bounceOf("x@here.example")), NO_SUCH);
      assert.match((await refused(path.address, "spammer@example.net"))!, /accepts delivery reports only/);
      assert.equal(await take(path.address, bounceOf("x@here.example"), "spammer@example.net"), ONLY_REPORTS);
      clock.advance(22 * DAY);
      assert.match((await refused(path.address, ""))!, /Return path expired/);
      assert.equal(await take(path.address, bounceOf("x@here.example")), EXPIRED);
      await drained();
      assert.deepEqual(sink.mails, []);
    });

    test("is accepted but ignored when repeated; a flood of bounces is deferred", async (t) => {
      const { srs, take, drained, sink, steps } = await open(t, { limits: { perPath: 5 } });
      const path = srs.forward("alice@example.org", NOON);
      assert.ok(path.ok);
      assert.equal(await take(path.address, bounceOf("x@here.example")), "ok");
      assert.equal(await take(path.address.toLowerCase(), bounceOf("x@here.example")), "ok");
      assert.equal(steps().filter((step) => / dropped /.test(step)).length, 1);
      const answers: string[] = [];
      for (let n = 0; n < 10; n++)
        answers.push(await take(path.address, bounceOf("x@here.example", { id: `<other-${n}@mx.example.net>` })));
      assert.deepEqual(
        [answers.filter((one) => one === "ok").length, new Set(answers.slice(4))],
        [4, new Set(["450 4.7.1 Too many reports for this address, try again later"])],
      );
      await drained();
      assert.equal(sink.mails.length, 5);
    });

    test("is deferred if its sender uses too many paths", async (t) => {
      const { srs, take, clock } = await open(t, { limits: { perPath: 3 } });
      const answers: string[] = [];
      for (let n = 0; n < 6; n++) {
        const path = srs.forward("alice@example.org", clock.now() - n * DAY);
        assert.ok(path.ok);
        answers.push((await take(path.address, bounceOf("x@here.example", { id: `<b${n}@x>` }))).slice(0, 3));
      }
      assert.deepEqual(answers, ["ok", "ok", "ok", "450", "450", "450"]);
    });
  });

  describe("a bounce to the path of a stored forward", () => {
    test("is forwarded to an authenticated sender, and dropped for an unauthenticated one", async (t) => {
      const { bounces, take, drained, sink, events } = await open(t);
      const long = `${"x".repeat(60)}@example.org`;
      const inbound = { id: "in1", rcpt: "info@here.example" };
      const [known, unknown] = await Promise.all(
        [true, false].map((senderAuthenticated) =>
          bounces.pathFor({ account: "acc", zone: "zone", sender: long, senderAuthenticated, inbound }),
        ),
      );
      assert.match(known!, /^[a-z0-9-]+@fwd\.example$/);
      assert.equal(await take(known!.toUpperCase(), bounceOf("bob@example.net")), "ok");
      assert.equal(await take(unknown!, bounceOf("bob@example.net")), "ok");
      await drained();
      assert.deepEqual(
        sink.mails.map(({ from, to }) => [from, to]),
        [["", [long]]],
      );
      const bounced = events.filter(({ step, detail }) => step === "bounced" && detail["report"] === true);
      assert.deepEqual(
        bounced.map(({ message, rcpt, account, zone, detail }) => [
          message,
          rcpt,
          account,
          zone,
          detail["code"],
          detail["enhanced"],
          detail["to"],
        ]),
        Array.from({ length: 2 }, () => ["in1", "info@here.example", "acc", "zone", 550, "5.1.1", "bob@example.net"]),
      );
      assert.equal(await take(known!, complaintOf({ rcpt: "bob@example.net" }), "fbl@provider.example"), ONLY_REPORTS);
    });
  });

  describe("a bounce of sent mail", () => {
    test("is traced and suppresses the address, only once", async (t) => {
      const fixture = await open(t);
      const path = await sent(fixture);
      assert.match(path, /^rp-[a-z0-9-]{38}@rp-bounce\.here\.example$/);
      assert.ok(path.indexOf("@") <= 64 && fixture.bounces.isReturnPath(path));
      assert.equal(await fixture.take(path, bounceOf("bob@example.net")), "ok");
      assert.equal(await fixture.take(path, bounceOf("bob@example.net")), "ok");
      assert.deepEqual(fixture.entries, [
        {
          account: "acc",
          email: "bob@example.net",
          reason: "hard_bounce",
          expiresAt: new Date(NOON + 7 * DAY),
          domain: "Here.Example",
          note: "5.1.1 550 5.1.1 No such user",
        },
      ]);
      assert.deepEqual(
        fixture.events
          .filter(({ step }) => step === "bounced")
          .map(({ message, rcpt, account, zone, detail }) => [message, rcpt, account, zone, detail["text"]]),
        [["m1", "bob@example.net", "acc", "zone", "550 5.1.1 No such user"]],
      );
      const [handled, ...more] = fixture.events.filter(({ step }) => step === "handled");
      assert.deepEqual(
        [handled!.rcpt, handled!.account, handled!.zone, handled!.detail, more],
        [path, "acc", "zone", { report: true, about: "<sent@here.example>" }, []],
      );
      await fixture.drained();
      assert.deepEqual(fixture.sink.mails, []);
    });

    test("suppresses permanently if the address had also failed a week earlier", async (t) => {
      const fixture = await open(t);
      for (const wait of [0, 1, 8, 89]) {
        fixture.clock.advance(wait * DAY);
        assert.equal(await fixture.take(await sent(fixture), bounceOf("Bob@Example.net", { id: `<${wait}@x>` })), "ok");
      }
      assert.deepEqual(
        fixture.entries.map(({ expiresAt }) => expiresAt === null),
        [false, false, true, false],
        "immediately, a day later, nine days later, and long after the first",
      );
    });

    test("applies to the recipient of the message, whatever the report says", async (t) => {
      const fixture = await open(t);
      const one = await sent(fixture);
      const [bobs, carols] = await sentTo(fixture, ["bob@example.net", "carol@example.net"]);
      assert.equal(await fixture.take(one, bounceOf("bob@behind-his-alias.example")), "ok");
      assert.equal(
        await fixture.take(
          carols!,
          bounceOf("c@elsewhere.example", {
            original: "Carol@example.net",
            id: "<2@x>",
            status: "5.2.2",
            words: "552 5.2.2 full",
          }),
        ),
        "ok",
      );
      assert.equal(
        await fixture.take(
          bobs!,
          bounceOf("behind@alias.example", { id: "<3@x>", status: "5.2.2", words: "552 5.2.2 full" }),
        ),
        "ok",
      );
      assert.deepEqual(
        fixture.entries.map(({ email, reason }) => [email, reason]),
        [
          ["bob@example.net", "hard_bounce"],
          ["carol@example.net", "soft_bounce"],
          ["bob@example.net", "soft_bounce"],
        ],
      );
    });

    test("does not affect another recipient of the message", async (t) => {
      const fixture = await open(t);
      const [bobs] = await sentTo(fixture, ["bob@example.net", "carol@example.net"]);
      assert.equal(await fixture.take(bobs!, bounceOf("carol@example.net")), "ok");
      assert.equal(
        await fixture.take(bobs!, bounceOf("x@elsewhere.example", { original: "CAROL@example.net", id: "<2@x>" })),
        "ok",
      );
      assert.deepEqual(fixture.entries, []);
      const [local, host] = bobs!.split("@");
      for (const forged of [`${local!.replace(/-0-/, "-1-")}@${host}`, `${local!.replace(/-0-/, "-")}@${host}`])
        assert.equal(await fixture.take(forged, bounceOf("carol@example.net", { id: "<3@x>" })), NO_SUCH, forged);
    });

    test("suppresses no address if it reports a delay, a delivery or rejected content", async (t) => {
      const fixture = await open(t);
      const path = await sent(fixture);
      for (const [n, [action, status, words]] of (
        [
          ["delayed", "4.4.1", "no answer"],
          ["delivered", "2.0.0", "250 ok"],
          ["failed", "5.7.1", "550 5.7.1 spam"],
        ] as const
      ).entries()) {
        assert.equal(
          await fixture.take(path, bounceOf("bob@example.net", { action, status, words, id: `<${n}@x>` })),
          "ok",
        );
      }
      assert.deepEqual(fixture.entries, []);
      assert.deepEqual(
        fixture.events.map(({ step }) => step),
        ["deferred", "handled", "delivered", "handled", "bounced", "handled"],
      );
    });

    test("counts with less weight if it is free text, and not at all if it is an automatic reply", async (t) => {
      const fixture = await open(t);
      const path = await sent(fixture);
      const words =
        "From: MAILER-DAEMON@old.example\r\nSubject: failure notice\r\nMessage-ID: <q@x>\r\n\r\nHi. This is the qmail-send program.\r\n\r\n<bob@example.net>:\r\n550 sorry\r\n";
      assert.equal(await fixture.take(path, words), "ok");
      assert.equal(
        await fixture.take(
          path,
          "From: bob@example.net\r\nSubject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nBack on Monday.\r\n",
        ),
        "ok",
      );
      assert.equal(await fixture.take(path, "no header at all"), "ok");
      assert.deepEqual(
        fixture.entries.map(({ reason }) => reason),
        ["soft_bounce"],
      );
      assert.deepEqual(
        fixture.events.map(({ step }) => step),
        ["bounced", "handled", "dropped", "dropped"],
      );
    });

    test("to a guessed, expired, unknown or foreign path is rejected", async (t) => {
      const fixture = await open(t);
      const path = await sent(fixture);
      const [local] = path.split("@");
      const flipped = path.replace(/.@/, (end) => (end === "0@" ? "1@" : "0@"));
      for (const forged of [
        flipped,
        `${local}@rp-bounce.other.example`,
        `${local}@fwd.example`,
        path.replace(/^rp-./, (start) => (start === "rp-0" ? "rp-1" : "rp-0")),
      ]) {
        assert.ok(fixture.bounces.isReturnPath(forged), forged);
        assert.equal((await fixture.bounces.check(forged, { from: "" }))?.code, 550, forged);
        assert.equal(await fixture.take(forged, bounceOf("bob@example.net")), NO_SUCH, forged);
      }
      for (const address of [
        "someone@here.example",
        "someone@rp-bounce.here.example",
        `${local}@here.example`,
        "rp-x@fwd.example",
        "",
      ])
        assert.ok(!fixture.bounces.isReturnPath(address), address);
      assert.equal(
        await fixture.take(path, "From: x@example.net\r\nSubject: hello\r\n\r\nBuy!\r\n", "x@example.net"),
        ONLY_REPORTS,
      );
      fixture.clock.advance(23 * DAY);
      assert.equal(await fixture.take(path, bounceOf("bob@example.net")), EXPIRED);
      fixture.clock.advance(-2 * DAY);
      assert.equal(await fixture.take(path, bounceOf("bob@example.net")), "ok");
      fixture.clock.advance(3 * DAY);
      await fixture.bounces.sweep();
      fixture.clock.advance(-3 * DAY);
      assert.equal(
        await fixture.take(path, bounceOf("bob@example.net", { id: "<later@x>" })),
        EXPIRED,
        "the row has been deleted",
      );
    });
  });

  describe("a complaint (RFC 5965)", () => {
    test("sent to the return path or to abuse@ in its domain permanently suppresses the recipient", async (t) => {
      const fixture = await open(t);
      const [bobs, carols] = await sentTo(fixture, ["bob@example.net", "carol@example.net"]);
      assert.equal(await fixture.take(bobs!, complaintOf({ rcpt: "bob@example.net" }), "fbl@provider.example"), "ok");
      assert.equal(
        await fixture.bounces.check("abuse@rp-bounce.here.example", { from: "fbl@provider.example" }),
        undefined,
      );
      assert.equal(
        await fixture.take(
          "abuse@rp-bounce.here.example",
          complaintOf({ mailFrom: carols!, to: "carol@example.net" }),
          "fbl@provider.example",
        ),
        "ok",
      );
      assert.deepEqual(
        fixture.entries.map(({ email, reason, expiresAt, domain }) => [email, reason, expiresAt, domain]),
        [
          ["bob@example.net", "complaint", null, "Here.Example"],
          ["carol@example.net", "complaint", null, "Here.Example"],
        ],
      );
      assert.deepEqual(
        fixture.events
          .filter(({ step }) => step === "bounced")
          .map(({ message, detail }) => [message, detail["complaint"]]),
        [
          ["m1", "abuse"],
          ["m1", "abuse"],
        ],
      );
      assert.deepEqual(
        fixture.events.filter(({ step }) => step === "handled").map(({ rcpt }) => rcpt),
        [bobs!, "abuse@rp-bounce.here.example"],
      );
    });

    test("counts only from an authenticated author, with a null sender or any other", async (t) => {
      const fixture = await open(t, { authenticated: false });
      const [bobs] = await sentTo(fixture, ["bob@example.net", "carol@example.net"]);
      const desk = "abuse@rp-bounce.here.example";
      for (const from of ["", "fbl@provider.example"]) {
        assert.equal(
          await fixture.take(bobs!, complaintOf({ rcpt: "bob@example.net" }), from),
          NOT_AUTHENTICATED,
          from,
        );
        assert.equal(
          await fixture.take(desk, complaintOf({ mailFrom: bobs!, rcpt: "bob@example.net" }), from),
          NOT_AUTHENTICATED,
          from,
        );
      }
      assert.deepEqual(fixture.entries, []);
      assert.equal(
        await fixture.take(bobs!, bounceOf("bob@example.net")),
        "ok",
        "a bounce needs no authenticated author",
      );
      const known = await open(t);
      const [path] = await sentTo(known, ["bob@example.net"]);
      assert.equal(await known.take(path!, complaintOf({ rcpt: "bob@example.net" })), "ok");
      assert.deepEqual(
        known.entries.map(({ reason }) => reason),
        ["complaint"],
      );
    });

    test("from one recipient about another suppresses no address", async (t) => {
      const fixture = await open(t);
      const [bobs] = await sentTo(fixture, ["bob@example.net", "carol@example.net"]);
      assert.equal(await fixture.take(bobs!, complaintOf({ rcpt: "carol@example.net" }), "bob@example.net"), "ok");
      assert.equal(
        await fixture.take(bobs!, complaintOf({ to: "carol@example.net", id: "<2@x>" }), "bob@example.net"),
        "ok",
      );
      assert.equal(
        await fixture.take(
          "abuse@rp-bounce.here.example",
          complaintOf({ mailFrom: bobs!, rcpt: "carol@example.net", id: "<3@x>" }),
          "bob@example.net",
        ),
        "ok",
      );
      assert.deepEqual(fixture.entries, []);
    });

    test("about mail of a domain that does not send here is rejected before DATA", async (t) => {
      const { bounces } = await open(t, { bounces: { isSendingDomain: async (domain) => domain === "here.example" } });
      const replyCode = async (rcpt: string) => (await bounces.check(rcpt, { from: "fbl@provider.example" }))?.code;
      assert.deepEqual(
        [await replyCode("abuse@rp-bounce.here.example"), await replyCode("Abuse@rp-bounce.elsewhere.example")],
        [undefined, 550],
      );
    });

    test("with type not-spam, or without a return path of this server, suppresses no address", async (t) => {
      const fixture = await open(t);
      const path = await sent(fixture);
      assert.equal(
        await fixture.take(
          path,
          complaintOf({ rcpt: "bob@example.net", type: "not-spam", id: "<2@x>" }),
          "fbl@provider.example",
        ),
        "ok",
      );
      const desk = "abuse@rp-bounce.here.example";
      for (const text of [
        complaintOf({ rcpt: "bob@example.net" }),
        complaintOf({ mailFrom: path.replace(/.@/, "-@") }),
        "Subject: help\r\n\r\nYour user spams me.\r\n",
      ])
        assert.equal(await fixture.take(desk, text, "x@example.net"), ONLY_REPORTS);
      assert.deepEqual(fixture.entries, []);
    });
  });
}

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createSrs } from "../../protocol/srs/index.ts";
import { bounceOf, complaintOf, DAY, NOON, openBounces } from "./bounces.testing.ts";
import { EXPIRED, NO_SUCH, ONLY_REPORTS } from "./bounce-processor.testing.ts";

/** Tests the processing of bounces of forwarded mail. */
export function forwardBouncesConformance(engine: TestEngine): void {
  const open = openBounces(engine);

  describe("a bounce to an SRS address", () => {
    test("is returned through two forwarders to the original sender, with a null sender at every hop", async (t) => {
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

    test("is rejected if it is not a delivery report, whatever its sender", async (t) => {
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
      assert.match((await refused(path.address, "spammer@example.net"))!, /accepts delivery status notifications only/);
      assert.equal(await take(path.address, bounceOf("x@here.example"), "spammer@example.net"), ONLY_REPORTS);
      clock.advance(22 * DAY);
      assert.match((await refused(path.address, ""))!, /Return path expired/);
      assert.equal(await take(path.address, bounceOf("x@here.example")), EXPIRED);
      await drained();
      assert.deepEqual(sink.mails, []);
    });

    test("is accepted but ignored if it is repeated, and deferred during a flood of bounces", async (t) => {
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
}

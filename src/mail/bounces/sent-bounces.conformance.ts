import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { bounceOf, DAY, NOON, openBounces } from "./bounces.testing.ts";
import { EXPIRED, NO_SUCH, ONLY_REPORTS, returnPathFor, returnPathsFor } from "./bounce-processor.testing.ts";

/** Tests the processing of bounces of sent mail. */
export function sentBouncesConformance(engine: TestEngine): void {
  const open = openBounces(engine);

  describe("a bounce of sent mail", () => {
    test("is traced to its message and suppresses the address only once", async (t) => {
      const fixture = await open(t);
      const path = await returnPathFor(fixture);
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

    test("suppresses the address permanently if it had also failed a week earlier", async (t) => {
      const fixture = await open(t);
      for (const wait of [0, 1, 8, 89]) {
        fixture.clock.advance(wait * DAY);
        assert.equal(
          await fixture.take(await returnPathFor(fixture), bounceOf("Bob@Example.net", { id: `<${wait}@x>` })),
          "ok",
        );
      }
      assert.deepEqual(
        fixture.entries.map(({ expiresAt }) => expiresAt === null),
        [false, false, true, false],
        "immediately, a day later, nine days later, and long after the first",
      );
    });

    test("applies to the recipient of the message, whatever the report says", async (t) => {
      const fixture = await open(t);
      const one = await returnPathFor(fixture);
      const [bobs, carols] = await returnPathsFor(fixture, ["bob@example.net", "carol@example.net"]);
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
      const [bobs] = await returnPathsFor(fixture, ["bob@example.net", "carol@example.net"]);
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
      const path = await returnPathFor(fixture);
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
      const path = await returnPathFor(fixture);
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

    test("is rejected if its path is guessed, expired or unknown, or has a different domain", async (t) => {
      const fixture = await open(t);
      const path = await returnPathFor(fixture);
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
}

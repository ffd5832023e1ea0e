import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { bounceOf, complaintOf, openBounces } from "./bounces.testing.ts";
import { NOT_AUTHENTICATED, ONLY_REPORTS, returnPathFor, returnPathsFor } from "./bounce-processor.testing.ts";

/** Tests the processing of complaints. */
export function complaintsConformance(engine: TestEngine): void {
  const open = openBounces(engine);

  describe("a complaint (RFC 5965)", () => {
    test("sent to the return path or to abuse@ in its domain permanently suppresses the recipient", async (t) => {
      const fixture = await open(t);
      const [bobs, carols] = await returnPathsFor(fixture, ["bob@example.net", "carol@example.net"]);
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

    test("counts only if its author is authenticated, with a null sender or any other", async (t) => {
      const fixture = await open(t, { authenticated: false });
      const [bobs] = await returnPathsFor(fixture, ["bob@example.net", "carol@example.net"]);
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
      const [path] = await returnPathsFor(known, ["bob@example.net"]);
      assert.equal(await known.take(path!, complaintOf({ rcpt: "bob@example.net" })), "ok");
      assert.deepEqual(
        known.entries.map(({ reason }) => reason),
        ["complaint"],
      );
    });

    test("from one recipient about another suppresses no address", async (t) => {
      const fixture = await open(t);
      const [bobs] = await returnPathsFor(fixture, ["bob@example.net", "carol@example.net"]);
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

    test("about mail of a domain that does not send through this server is rejected before DATA", async (t) => {
      const { bounces } = await open(t, { bounces: { isSendingDomain: async (domain) => domain === "here.example" } });
      const replyCode = async (rcpt: string) => (await bounces.check(rcpt, { from: "fbl@provider.example" }))?.code;
      assert.deepEqual(
        [await replyCode("abuse@rp-bounce.here.example"), await replyCode("Abuse@rp-bounce.elsewhere.example")],
        [undefined, 550],
      );
    });

    test("with type not-spam, or without a return path of this server, suppresses no address", async (t) => {
      const fixture = await open(t);
      const path = await returnPathFor(fixture);
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

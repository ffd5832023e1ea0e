import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { ACCOUNT, openRouting, OTHER_ACCOUNT, refusal } from "../routing/routing.testing.ts";

const page = { page: 1, perPage: 50 };
const DAY = 24 * 3_600_000;

export function addressesConformance(engine: TestEngine): void {
  describe("destination addresses", () => {
    test("are verified by the link in the verification mail", async (t) => {
      const {
        routing: { addresses },
        mails,
        clock,
        db,
      } = await openRouting(t, engine);
      const made = await addresses.create(ACCOUNT, " Me@Example.net ");
      assert.deepEqual(made, {
        id: made.id,
        account: ACCOUNT,
        email: "Me@Example.net",
        verifiedAt: null,
        createdAt: clock.now(),
        modifiedAt: clock.now(),
      });
      assert.deepEqual(
        mails.map(({ address, link }) => [address, link.startsWith("https://mail.example/email/verify/")]),
        [["Me@Example.net", true]],
      );
      const { token } = mails[0]!;
      assert.ok(token.length >= 32);
      const rows = JSON.stringify(
        await db.tables<{ email_addresses: object }>().selectFrom("email_addresses").selectAll().execute(),
      );
      assert.equal(rows.includes(token), false, "only the hash is stored");
      assert.deepEqual(await addresses.pending(token), made);
      assert.equal(await addresses.isVerified(ACCOUNT, "me@example.net"), false);
      clock.advance(1000);
      const verified = await addresses.verify(token);
      assert.deepEqual([verified.verifiedAt, verified.modifiedAt], [clock.now(), clock.now()]);
      clock.advance(1000);
      assert.deepEqual(await addresses.verify(token), verified, "verifying again succeeds");
      assert.equal(await addresses.isVerified(ACCOUNT, "ME@example.net"), true);
      assert.equal(await addresses.isVerified(OTHER_ACCOUNT, "me@example.net"), false);
      for (const wrong of ["", "x".repeat(43), `${token}x`, "../etc"])
        assert.equal((await refusal(addresses.verify(wrong)))[0], "badLink");
    });

    test("have links that expire after a time, when another message is sent, or when the address is deleted", async (t) => {
      const {
        routing: { addresses },
        mails,
        clock,
        mailer,
      } = await openRouting(t, engine);
      const { id } = await addresses.create(ACCOUNT, "me@example.net");
      assert.equal((await refusal(addresses.resend(ACCOUNT, id)))[0], "tooSoon");
      assert.equal((await addresses.create(ACCOUNT, "ME@example.net")).id, id);
      assert.equal(mails.length, 1);
      clock.advance(61_000);
      await addresses.resend(ACCOUNT, id);
      assert.equal((await refusal(addresses.verify(mails[0]!.token)))[0], "badLink");
      clock.advance(61_000);
      await addresses.create(ACCOUNT, "me@example.net");
      assert.equal(mails.length, 3, "adding the address again requests another email");
      clock.advance(3 * DAY);
      assert.equal((await refusal(addresses.verify(mails[2]!.token)))[0], "badLink");
      mailer.fails = true;
      await assert.rejects(addresses.resend(ACCOUNT, id), /no way out/);
      mailer.fails = false;
      await addresses.resend(ACCOUNT, id);
      await addresses.setVerified(ACCOUNT, id, true);
      assert.equal((await addresses.resend(ACCOUNT, id)).id, id);
      assert.equal(mails.length, 4, "a verified address gets no further email");
      await addresses.setVerified(ACCOUNT, id, false);
      assert.equal((await refusal(addresses.verify(mails[3]!.token)))[0], "badLink");
      await addresses.delete(ACCOUNT, id);
      assert.equal((await refusal(addresses.get(ACCOUNT, id)))[0], "noAddress");
      assert.equal((await refusal(addresses.setVerified(ACCOUNT, id, true)))[0], "noAddress");
    });

    test("are listed in pages, limited in number, and visible only to their own account", async (t) => {
      const {
        routing: { addresses },
        clock,
      } = await openRouting(t, engine, {
        addresses: { link: (token) => token, limit: 3 },
      });
      const made = [];
      for (const name of ["a", "b", "c"]) {
        made.push(await addresses.create(ACCOUNT, `${name}@example.net`));
        clock.advance(1000);
      }
      assert.equal((await refusal(addresses.create(ACCOUNT, "d@example.net")))[0], "tooManyAddresses");
      assert.equal((await addresses.create(ACCOUNT, "c@example.net")).id, made[2]!.id);
      const theirs = await addresses.create(OTHER_ACCOUNT, "a@example.net");
      assert.equal((await refusal(addresses.get(ACCOUNT, theirs.id)))[0], "noAddress");
      await addresses.setVerified(ACCOUNT, made[1]!.id, true);
      const names = async (query = {}, at = page) =>
        (await addresses.list(ACCOUNT, query, at)).items.map(({ email }) => email[0]).join("");
      assert.deepEqual(
        [
          await names(),
          await names({ direction: "desc" }),
          await names({ verified: true }),
          await names({ verified: false }),
        ],
        ["abc", "cba", "b", "ac"],
      );
      assert.deepEqual([await names({}, { page: 2, perPage: 2 }), await names({}, { page: 3, perPage: 2 })], ["c", ""]);
      assert.equal((await addresses.list(ACCOUNT, {}, { page: 2, perPage: 2 })).total, 3);
      assert.equal(await addresses.firstVerified(ACCOUNT), "b@example.net");
      assert.equal(await addresses.firstVerified(OTHER_ACCOUNT), undefined);
    });

    test("are rejected if invalid", async (t) => {
      const {
        routing: { addresses },
        mails,
      } = await openRouting(t, engine);
      for (const wrong of [
        "",
        "me",
        "postmaster",
        "a@b@",
        "Me <me@example.net>",
        "a@[192.0.2.1]",
        `${"x".repeat(90)}@example.net`,
        "a b@example.net",
        "a@exa mple.net",
      ])
        assert.equal((await refusal(addresses.create(ACCOUNT, wrong)))[0], "badAddress", wrong);
      assert.equal(mails.length, 0);
      assert.equal((await addresses.create(ACCOUNT, "grüße@bücher.example")).email, "grüße@bücher.example");
      assert.equal(await addresses.isVerified(ACCOUNT, "grüße@xn--bcher-kva.example"), false);
      assert.equal(await addresses.stateOf(ACCOUNT, "GRÜSSE@xn--bcher-kva.example"), undefined);
      assert.equal(await addresses.stateOf(ACCOUNT, "GRÜßE@xn--bcher-kva.example"), "unverified");
    });

    test("receive a limited number of verification messages", async (t) => {
      const {
        routing: { addresses },
        mails,
        clock,
      } = await openRouting(t, engine);
      const again = async () => {
        const { id } = await addresses.create(ACCOUNT, "stranger@example.net");
        await addresses.delete(ACCOUNT, id);
      };
      for (let i = 0; i < 300; i++) await again();
      assert.equal((await refusal(again()))[0], "tooManyMails");
      assert.equal(mails.length, 300);
      clock.advance(3_600_000);
      await again();
    });

    test("are created once by concurrent requests", async (t) => {
      const {
        routing: { addresses },
      } = await openRouting(t, engine);
      const made = await Promise.all(Array.from({ length: 5 }, () => addresses.create(ACCOUNT, "me@example.net")));
      assert.equal(new Set(made.map(({ id }) => id)).size, 1);
      assert.equal((await addresses.list(ACCOUNT, {}, page)).total, 1);
    });
  });
}

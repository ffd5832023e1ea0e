import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createSrs, type SrsForward } from "./srs.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 0, 5, 23, 59);
const srs = createSrs({ domain: "fwd.example", keys: ["key one"] });

const rewritten = (result: SrsForward): string => {
  assert.ok(result.ok, JSON.stringify(result));
  return result.address;
};

const atom = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]{1,12}$/);
const local = fc.array(atom, { minLength: 1, maxLength: 2 }).map((atoms) => atoms.join("."));
const domain = fc.stringMatching(/^[a-z][a-z0-9]{0,8}\.[a-z]{2,6}$/).filter((name) => name !== "fwd.example");

test("a rewritten sender is restored, even if the case of its letters has changed", () => {
  fc.assert(
    fc.property(local, domain, fc.nat(5000), fc.nat(21), (name, host, day, later) => {
      const now = day * DAY;
      const sender = `${name}@${host}`;
      const result = srs.forward(sender, now);
      if (!result.ok) return assert.equal(result.why, "too-long");
      assert.ok(result.address.indexOf("@") <= 64);
      const isAlreadySrs = /^SRS[01]/i.test(name);
      for (const spelling of [result.address, result.address.toLowerCase(), result.address.toUpperCase()]) {
        const back = srs.reverse(spelling, now + later * DAY);
        assert.ok(back.ok, spelling);
        if (!isAlreadySrs) assert.equal(back.address.toLowerCase(), sender.toLowerCase());
      }
    }),
  );
});

test("one changed letter in the local part causes the address to be treated as a forgery or as not SRS", () => {
  const address = rewritten(srs.forward("alice@example.org", NOW));
  const at = address.indexOf("@");
  fc.assert(
    fc.property(fc.nat(at - 1), fc.stringMatching(/^[a-z0-9=]$/), (place, letter) => {
      if (address[place]!.toLowerCase() === letter) return;
      const changed = address.slice(0, place) + letter + address.slice(place + 1);
      const back = srs.reverse(changed, NOW);
      assert.ok(!back.ok, changed);
      assert.notEqual(back.why, "expired");
    }),
  );
});

test("addresses expire after 21 days; addresses from a clock that is ahead are accepted", () => {
  const address = rewritten(srs.forward("alice@example.org", NOW));
  assert.deepEqual(srs.reverse(address, NOW + 21 * DAY), { ok: true, address: "alice@example.org" });
  assert.deepEqual(srs.reverse(address, NOW + 22 * DAY), { ok: false, why: "expired" });
  assert.equal(srs.reverse(address, NOW - DAY).ok, true);
  assert.deepEqual(srs.reverse(address, NOW - 2 * DAY), { ok: false, why: "expired" });
  const short = createSrs({ domain: "fwd.example", keys: ["key one"], maxAgeDays: 3 });
  assert.deepEqual(short.reverse(address, NOW + 4 * DAY), { ok: false, why: "expired" });
});

test("a replaced key is accepted while it is still listed", () => {
  const address = rewritten(srs.forward("alice@example.org", NOW));
  const rotated = createSrs({ domain: "fwd.example", keys: ["key two", "key one"] });
  assert.equal(rotated.reverse(address, NOW).ok, true);
  assert.notEqual(rewritten(rotated.forward("alice@example.org", NOW)), address);
  assert.deepEqual(createSrs({ domain: "fwd.example", keys: ["key two"] }).reverse(address, NOW), {
    ok: false,
    why: "forged",
  });
});

test("the null sender and addresses in the forwarder's own domain are unchanged", () => {
  assert.deepEqual(srs.forward("", NOW), { ok: true, address: "" });
  assert.deepEqual(srs.forward("x@FWD.example", NOW), { ok: true, address: "x@FWD.example" });
});

test("addresses that are too long are distinguished from those that cannot be nested", () => {
  assert.deepEqual(srs.forward("bounces+848413-e276-some.person=mail.example@mailer.example.com", NOW), {
    ok: false,
    why: "too-long",
  });
  assert.deepEqual(srs.forward('"a b"@example.org', NOW), { ok: false, why: "not-plain" });
  assert.deepEqual(srs.forward("käthe@example.org", NOW), { ok: false, why: "not-plain" });
  assert.deepEqual(srs.forward("a@[192.0.2.1]", NOW), { ok: false, why: "not-plain" });
  assert.deepEqual(srs.forward("nonsense", NOW), { ok: false, why: "not-an-address" });
});

test("the longest possible sender has a local part of 64 octets", () => {
  const available = 64 - "SRS0=12345678=DD=a.example=".length;
  assert.equal(rewritten(srs.forward(`${"x".repeat(available)}@a.example`, NOW)).indexOf("@"), 64);
  assert.deepEqual(srs.forward(`${"x".repeat(available + 1)}@a.example`, NOW), { ok: false, why: "too-long" });
});

test("the second and third of three consecutive forwarders write SRS1, and the return path has two hops", () => {
  const second = createSrs({ domain: "two.example", keys: ["k2"] });
  const third = createSrs({ domain: "three.example", keys: ["k3"] });
  const first = rewritten(srs.forward("a@b.example", NOW));
  const again = rewritten(second.forward(first, NOW));
  const last = rewritten(third.forward(again, NOW));
  assert.match(again, /^SRS1=.{8}=fwd\.example==/);
  assert.match(last, /^SRS1=.{8}=fwd\.example==/);
  assert.deepEqual(third.reverse(last.toLowerCase(), NOW), {
    ok: true,
    address: first.toLowerCase().replace("srs0", "SRS0"),
  });
  assert.deepEqual(srs.reverse(first.toLowerCase(), NOW), { ok: true, address: "a@b.example" });
  assert.deepEqual(third.reverse(last.replace("fwd.example", "bad.example"), NOW), { ok: false, why: "forged" });
});

test("separators of other software are accepted", () => {
  const other = rewritten(srs.forward("SRS0+abcd=AA=a.test=bob@b.test", NOW));
  assert.match(other, /^SRS1=.{8}=b\.test=\+abcd=/);
  assert.deepEqual(srs.reverse(other, NOW), { ok: true, address: "SRS0+abcd=AA=a.test=bob@b.test" });
});

test("addresses in other domains or without SRS are not recognized", () => {
  for (const address of [
    "SRS0=a=b=c=d@else.example",
    "alice@fwd.example",
    "SRS0=@fwd.example",
    "@fwd.example",
    "",
    "SRS1=x=y=z@fwd.example",
  ]) {
    assert.deepEqual(srs.reverse(address, NOW), { ok: false, why: "not-srs" }, address);
    assert.equal(srs.isOurs(address), false, address);
  }
  assert.equal(srs.isOurs(rewritten(srs.forward("alice@example.org", NOW))), true);
});

test("reads any text without throwing", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.string().map((text) => `SRS0=${text}@fwd.example`),
      ),
      (text) => {
        assert.equal(srs.reverse(text, NOW).ok, false);
        srs.forward(text, NOW);
      },
    ),
  );
});

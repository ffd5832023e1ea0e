import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createReturnPaths, pathId } from "./paths.ts";
import { DAY, NOON } from "./bounces.testing.ts";

const options = { forwardDomain: "Fwd.Example", label: "rp-bounce", maxAgeDays: 21 };
const paths = createReturnPaths({ ...options, keys: ["new"] });
const hex = fc.stringMatching(/^[0-9a-f]{32}$/);

test("a return path is valid in any letter case until it expires, with any of the keys", () => {
  const rotated = createReturnPaths({ ...options, keys: ["newest", "new"] });
  fc.assert(
    fc.property(
      hex,
      fc.constantFrom("fwd.example", paths.bounceDomainOf("Shop.Example"), paths.bounceDomainOf("bücher.example")),
      fc.nat(20_000),
      fc.integer({ min: -1, max: 21 }),
      (id, host, day, later) => {
        const now = day * DAY + 1;
        const address = paths.make(pathId(id), host, now);
        assert.ok(address.indexOf("@") <= 64);
        for (const spelling of [address, address.toUpperCase()]) {
          assert.ok(paths.isReturnPath(spelling));
          assert.deepEqual(rotated.read(spelling, now + later * DAY), { ok: true, id: pathId(id) });
        }
        assert.deepEqual(paths.read(address, now + 22 * DAY), { ok: false, why: "expired" });
        assert.deepEqual(paths.read(address, now - 2 * DAY), { ok: false, why: "expired" });
      },
    ),
  );
});

test("a return path identifies one recipient, and is forged if the recipient is altered", () => {
  fc.assert(
    fc.property(hex, fc.nat(46_655), (id, member) => {
      const address = paths.make(pathId(id), "rp-bounce.shop.example", NOON, member);
      assert.ok(address.indexOf("@") <= 64);
      assert.deepEqual(paths.read(address.toUpperCase(), NOON), { ok: true, id: pathId(id), member });
      const without = address.replace(/^(rp-[0-9a-f]{20})-[0-9a-z]{1,3}-/, "$1-");
      const next = address.replace(
        /^(rp-[0-9a-f]{20})-[0-9a-z]{1,3}-/,
        `$1-${(member === 0 ? 1 : member - 1).toString(36)}-`,
      );
      for (const changed of [without, next])
        assert.deepEqual(paths.read(changed, NOON), { ok: false, why: "forged" }, changed);
    }),
  );
});

test("a return path with one changed letter is forged or invalid", () => {
  const address = paths.make(pathId("0123456789abcdef0123456789abcdef"), "fwd.example", NOON);
  fc.assert(
    fc.property(fc.nat(address.indexOf("@") - 1), fc.stringMatching(/^[a-z0-9-]$/), (place, letter) => {
      if (address[place] === letter) return;
      const read = paths.read(address.slice(0, place) + letter + address.slice(place + 1), NOON);
      assert.ok(!read.ok && read.why !== "expired");
    }),
  );
  assert.deepEqual(createReturnPaths({ ...options, keys: ["other"] }).read(address, NOON), {
    ok: false,
    why: "forged",
  });
  assert.deepEqual(paths.read(address.replace("fwd.example", "rp-bounce.fwd.example"), NOON), {
    ok: false,
    why: "forged",
  });
});

test("parses any address without throwing, and recognizes only return paths", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.string().map((local) => `rp-${local}@fwd.example`),
      ),
      (address) => {
        assert.equal(paths.isReturnPath(address), false);
        assert.equal(paths.read(address, NOON).ok, false);
        paths.complaintDomainOf(address);
      },
    ),
  );
  assert.equal(paths.complaintDomainOf("Abuse@rp-bounce.Shop.example"), "shop.example");
  for (const address of [
    "abuse@shop.example",
    "abuse@fwd.example",
    "postmaster@rp-bounce.shop.example",
    "abuse@rp-bounce",
  ])
    assert.equal(paths.complaintDomainOf(address), undefined, address);
});

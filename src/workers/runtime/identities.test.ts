import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { silentLog, type UserError } from "../../kernel/index.ts";
import { isMapped, parseIdRange } from "../../kernel/privileges.ts";
import { createIdentities } from "./identities.ts";

const identities = (first: number, last: number) =>
  createIdentities({ range: { first, last }, log: silentLog, able: true });

describe("worker user ids", () => {
  it("each id belongs to one account and is within the range", () => {
    const account = fc.integer({ min: 0, max: 5 }).map(String);
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            account.map((of) => ({ of })),
            fc.nat(20).map((release) => ({ release })),
          ),
          { maxLength: 60 },
        ),
        (steps) => {
          const all = identities(70_000, 70_005);
          const held: { of: string; uid: number; release(): void }[] = [];
          for (const step of steps) {
            if ("of" in step) {
              const { identity, release } = all.acquire(step.of);
              assert.ok(identity!.uid >= 70_000 && identity!.uid <= 70_005 && identity!.gid === identity!.uid);
              assert.ok(held.every((one) => one.of === step.of || one.uid !== identity!.uid));
              held.push({ of: step.of, uid: identity!.uid, release });
            } else if (held.length > 0) {
              const [gone] = held.splice(step.release % held.length, 1);
              gone!.release();
              gone!.release();
            }
          }
        },
      ),
    );
  });

  it("rejects an account if all ids are in use, until one is released", () => {
    const all = identities(70_000, 70_000);
    const first = all.acquire("a");
    assert.equal(all.acquire("a").identity!.uid, 70_000);
    assert.throws(
      () => all.acquire("b"),
      (err: UserError) => err.kind === "machineFailed" && /workers\.uid_range/.test(err.message),
    );
    const again = identities(70_000, 70_000);
    again.acquire("a").release();
    assert.equal(again.acquire("b").identity!.uid, 70_000);
    first.release();
  });

  it("uses `nobody` without a range, and the server's user if it cannot switch users", () => {
    assert.deepEqual(createIdentities({ log: silentLog, able: true }).acquire("a").identity, {
      uid: 65534,
      gid: 65534,
    });
    const unable = createIdentities({ range: { first: 1, last: 2 }, log: silentLog, able: false });
    assert.deepEqual([unable.kind, unable.acquire("a").identity], ["server", undefined]);
  });
});

describe("user id ranges", () => {
  it("accepts two unprivileged ids in ascending order", () => {
    assert.deepEqual(parseIdRange("70000-79999"), { first: 70_000, last: 79_999 });
    for (const text of ["", "0-10", "5", "9-8", "1-4294967295", "1--2", "a-b", "1-99999999999"])
      assert.equal(parseIdRange(text), undefined, text);
  });

  it("a range is mapped if one uid_map row contains all ids", () => {
    const range = { first: 70_000, last: 79_999 };
    assert.equal(isMapped(range, "         0          0 4294967295\n"), true);
    assert.equal(isMapped(range, "0 100000 65536\n"), false);
    assert.equal(isMapped(range, "0 1000 1\n1 100000 79999\n"), true);
    assert.equal(isMapped(range, "0 1000 1\n1 100000 79998\n"), false);
  });
});

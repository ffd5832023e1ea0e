import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as check, constantFrom, integer, property, record, uniqueArray } from "fast-check";
import { shareFairly, type TenantHost } from "./fair-share.ts";

const hostsOf = (account: string, count: number): TenantHost[] =>
  Array.from({ length: count }, (_, i) => ({ account, host: `${String(i).padStart(3, "0")}.${account}.example` }));
const countOf = (hosts: readonly TenantHost[], account: string) =>
  hosts.filter((each) => each.account === account).length;
const none = () => false;

test("an account with many hosts leaves capacity for others", () => {
  const hosts = [...hostsOf("a", 500), ...hostsOf("b", 3), ...hostsOf("c", 200)];
  const selected = shareFairly(hosts, { total: 100, perAccount: 60 }, none);
  assert.deepEqual(
    ["a", "b", "c"].map((account) => countOf(selected, account)),
    [49, 3, 48],
  );
  assert.equal(countOf(shareFairly(hosts, { total: 1000, perAccount: 60 }, none), "a"), 60);
});

test("issued certificates are kept, and come first within their account", () => {
  const hosts = [...hostsOf("a", 10), ...hostsOf("b", 10)];
  const issued = new Set(
    hostsOf("a", 10)
      .slice(4)
      .map(({ host }) => host),
  );
  const selected = shareFairly(hosts, { total: 8, perAccount: 6 }, (host) => issued.has(host));
  assert.deepEqual(
    selected.map(({ host }) => host),
    [...hostsOf("a", 10).slice(4), ...hostsOf("b", 2)].map(({ host }) => host),
  );
});

test("no account exceeds its limit, displaces an issued certificate, or starves another account", () => {
  const host = record({
    account: constantFrom("a", "b", "c", "d"),
    host: integer({ min: 0, max: 999 }).map((n) => `h${n}`),
  });
  check(
    property(
      uniqueArray(host, { maxLength: 60, selector: (each) => each.host }),
      array(host, { maxLength: 60 }),
      integer({ min: 1, max: 40 }),
      integer({ min: 1, max: 15 }),
      (before, more, total, perAccount) => {
        const limits = { total, perAccount };
        const first = shareFairly(before, limits, none);
        const issued = new Set(first.map((each) => each.host));
        const known = new Set(before.map((each) => each.host));
        const added = [
          ...new Map(more.filter((each) => !known.has(each.host)).map((each) => [each.host, each])).values(),
        ];
        // New hosts in front, as if their names came first.
        const second = shareFairly([...added, ...before], limits, (each) => issued.has(each));
        for (const selected of [first, second]) {
          assert.ok(selected.length <= total);
          assert.equal(new Set(selected.map((each) => each.host)).size, selected.length);
          for (const account of ["a", "b", "c", "d"]) assert.ok(countOf(selected, account) <= perAccount);
        }
        for (const each of first) assert.ok(second.includes(each), each.host);
        // An account gets fewer hosts than another one only if it has no further hosts.
        for (const account of ["a", "b", "c", "d"])
          for (const other of ["a", "b", "c", "d"])
            if (countOf(first, account) + 1 < countOf(first, other))
              assert.equal(countOf(first, account), countOf(before, account));
      },
    ),
  );
});

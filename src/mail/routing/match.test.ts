import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { matchRecipient, matchTable } from "./match.ts";
import { readRecipient } from "../recipient.ts";
import type { Rule } from "./types.ts";

const ZONE = { id: "z".repeat(32), account: "a".repeat(32), name: "example.com" };

const local = fc.constantFrom("a", "A", "b", "a.b", "ab", "a+x", "a+X", "a+x+y", "+x", "postmaster", "b+");
const domain = fc.constantFrom("example.com", "EXAMPLE.com", "in.example.com");
const address = fc.tuple(local, domain).map(([left, right]) => `${left}@${right}`);
const rules = fc.array(
  fc.record({ to: fc.option(address), enabled: fc.boolean(), priority: fc.integer({ min: 0, max: 2 }) }),
  { maxLength: 12 },
);

/** Tries the rules one after another, as specified. */
function naive(sorted: readonly Rule[], supportSubaddress: boolean, recipient: string): string | undefined {
  const live = sorted.filter(({ enabled }) => enabled);
  const named = (wanted: string) =>
    live.find(({ matcher }) => matcher.type === "literal" && matcher.value.toLowerCase() === wanted.toLowerCase());
  const [left, right] = recipient.split("@") as [string, string];
  const found = named(recipient);
  if (found !== undefined) return found.id;
  const bare =
    supportSubaddress && left.indexOf("+") > 0 ? named(`${left.slice(0, left.indexOf("+"))}@${right}`) : undefined;
  if (bare !== undefined) return bare.id;
  return right.toLowerCase() === ZONE.name ? live.find(({ matcher }) => matcher.type === "all")?.id : undefined;
}

test("the lookup table finds the same rule as a linear search", () => {
  let found = 0;
  fc.assert(
    fc.property(rules, fc.boolean(), address, (wanted, supportSubaddress, recipient) => {
      const made = wanted.map(({ to, enabled, priority }, i): Rule => ({
        id: String(i),
        zone: ZONE.id,
        account: ZONE.account,
        name: "",
        enabled,
        awaiting: false,
        priority,
        matcher: to === null ? { type: "all" } : { type: "literal", field: "to", value: to },
        action: { type: "drop" },
        source: "api",
        owner: null,
        createdAt: i,
        modifiedAt: i,
      }));
      const sorted = made.sort((a, b) => a.priority - b.priority || a.createdAt - b.createdAt);
      const match = matchRecipient(matchTable(ZONE, supportSubaddress, sorted), readRecipient(recipient)!);
      if (match !== undefined) found++;
      assert.equal(match?.rule.id, naive(sorted, supportSubaddress, recipient));
    }),
    { numRuns: 3000 },
  );
  assert.ok(found > 500, "most runs should find a match");
});

test("parses or rejects any text as a recipient, and parsing its key again gives the same key", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.emailAddress(),
        fc.string({ unit: "grapheme" }).map((left) => `${left}@bücher.example`),
      ),
      (text) => {
        const read = readRecipient(text);
        if (read === undefined || read.domain === "" || !/^[\w.+-]+$/.test(read.local)) return;
        const key = `${read.local}@${read.domain}`;
        const again = readRecipient(key);
        if (again !== undefined) assert.deepEqual(again, read);
      },
    ),
  );
});

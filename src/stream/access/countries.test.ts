import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createCountryLookup } from "./countries.ts";

test("the bundled database knows well-known IPv4 and IPv6 addresses, and no private ones", () => {
  const countryOf = createCountryLookup();
  // Networks of the regional registries RIPE NCC and LACNIC.
  assert.equal(countryOf("193.0.6.139"), "NL");
  assert.equal(countryOf("::ffff:193.0.6.139"), "NL");
  assert.equal(countryOf("200.3.14.147"), "UY");
  assert.match(countryOf("2001:67c:2e8::1") ?? "", /^[A-Z]{2}$/);
  for (const ip of ["127.0.0.1", "::1", "10.0.0.1", "", "nonsense", "fe80::1%eth0"])
    assert.equal(countryOf(ip), undefined, ip);
});

test("a file that is not a database is rejected immediately, with its name in the error", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-countries-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "x.mmdb");
  writeFileSync(file, "this is no database");
  assert.throws(
    () => createCountryLookup({ file }),
    (err: Error) => err.message.includes(file),
  );
  assert.throws(() => createCountryLookup({ file: join(folder, "absent") }), /absent/);
});

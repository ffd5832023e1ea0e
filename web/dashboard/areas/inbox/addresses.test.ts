import assert from "node:assert/strict";
import { test } from "node:test";
import { addressesOf, mailboxesOf } from "./addresses.ts";

test("addresses are separated by commas, semicolons and spaces", () => {
  assert.deepEqual(addressesOf(" a@example.com, b@example.com;c@example.com\n"), [
    "a@example.com",
    "b@example.com",
    "c@example.com",
  ]);
  assert.deepEqual(addressesOf(" , "), []);
});

test("accepts mailboxes with display names, including quoted names with commas", () => {
  assert.deepEqual(mailboxesOf('Ada <ada@example.com>, "Byron, \\"A\\"" <b@example.com>; c@example.com,'), [
    { email: "ada@example.com", name: "Ada" },
    { email: "b@example.com", name: 'Byron, "A"' },
    { email: "c@example.com" },
  ]);
  assert.deepEqual(mailboxesOf("<a@example.com>"), [{ email: "a@example.com" }]);
  assert.deepEqual(mailboxesOf(""), []);
});

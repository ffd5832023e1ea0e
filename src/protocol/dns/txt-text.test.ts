import assert from "node:assert/strict";
import { test } from "node:test";
import { txtText } from "./txt-text.ts";

test("joins the strings of a TXT record", () => {
  assert.equal(txtText('"v=spf1 include:a" "b.example -all"'), "v=spf1 include:ab.example -all");
  assert.equal(txtText('"a\\"b"'), 'a"b');
  assert.equal(txtText('"not closed'), '"not closed');
});

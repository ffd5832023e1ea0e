import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { rfc5322Date } from "../rfc5322/index.ts";
import { receivedField } from "./received.ts";

const facts = {
  helo: "mail.sender.example",
  ip: "192.0.2.1",
  by: "mx.reelpost.example",
  protocol: "ESMTP",
  id: "0123",
  at: new Date(Date.UTC(2026, 0, 5, 7, 8, 9)),
};

test("a Received field contains both hosts, the protocol, the id and the time", () => {
  assert.equal(
    receivedField({ ...facts, recipient: "a@b.example" }),
    "Received: from mail.sender.example ([192.0.2.1])\r\n\tby mx.reelpost.example with ESMTP id 0123\r\n\tfor <a@b.example>;\r\n\tMon, 5 Jan 2026 07:08:09 +0000\r\n",
  );
  assert.match(
    receivedField({ ...facts, ip: "2001:db8::1", helo: "" }),
    /^Received: from unknown \(\[IPv6:2001:db8::1\]\)/,
  );
  assert.doesNotMatch(receivedField(facts), /for </);
  assert.match(
    receivedField({ ...facts, tls: "TLSv1.3 TLS_AES_256_GCM_SHA384" }),
    /id 0123\r\n\t\(TLSv1\.3 TLS_AES_256_GCM_SHA384\);/,
  );
});

test("HELO names and recipients cannot break out of the field", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (helo, recipient) => {
      const lines = receivedField({ ...facts, helo, recipient }).split("\r\n");
      assert.equal(lines.length, 5);
      assert.ok(lines.slice(1, -1).every((line) => line.startsWith("\t")));
      assert.ok(lines.every((line) => !/[\r\n\0]/.test(line)));
      assert.equal(lines[0]!.split("(").length, 2);
    }),
  );
});

test("dates are in the standard format", () => {
  assert.equal(new Date(rfc5322Date(facts.at)).getTime(), facts.at.getTime());
});

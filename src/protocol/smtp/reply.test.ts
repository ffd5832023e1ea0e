import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { formatReply } from "./reply.ts";

const lineOf = (code: number, text: string) => formatReply({ code, enhanced: "5.7.1", text });

test("limits every reply line to 512 octets (RFC 5321 4.5.3.1.5) of valid UTF-8", () => {
  fc.assert(
    fc.property(fc.constantFrom(250, 451, 550), fc.string({ unit: "grapheme", maxLength: 700 }), (code, text) => {
      const line = lineOf(code, text);
      assert.ok(Buffer.byteLength(line) <= 512);
      assert.equal(line.includes("\ufffd"), text.includes("\ufffd"));
      const whole = `${code} 5.7.1 ${text}\r\n`;
      if (Buffer.byteLength(whole) <= 512) assert.equal(line, whole);
      else assert.ok(whole.startsWith(line.slice(0, -"...\r\n".length)));
    }),
  );
  assert.equal(Buffer.byteLength(lineOf(550, "x".repeat(600))), 512);
  // Tests every alignment of the limit within characters of two, three and four octets.
  for (const character of ["é", "€", "😀"])
    for (let shift = 0; shift < 4; shift++)
      assert.ok(!lineOf(550, "x".repeat(shift) + character.repeat(400)).includes("\ufffd"), `${character} ${shift}`);
});

test("a text with control characters yields a single well-formed reply", () => {
  assert.equal(lineOf(550, "no\r\n250 OK\0\u0085"), "550 5.7.1 no  250 OK  \r\n");
});

test("writes a multiline EHLO reply with hyphens, and an AUTH challenge without an enhanced status code", () => {
  assert.equal(formatReply({ code: 250, text: ["mx.test", "SIZE 10"] }), "250-mx.test\r\n250 SIZE 10\r\n");
  assert.equal(formatReply({ code: 334, text: "" }), "334 \r\n");
});

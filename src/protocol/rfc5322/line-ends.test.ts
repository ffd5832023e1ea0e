import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { crlfLineEnds } from "./line-ends.ts";

async function convert(text: string, size = text.length || 1): Promise<string> {
  async function* pieces() {
    for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size), "latin1");
  }
  let out = "";
  for await (const chunk of crlfLineEnds(pieces())) out += Buffer.from(chunk).toString("latin1");
  return out;
}

test("a bare CR or LF becomes CRLF, and CRLF is unchanged", async () => {
  assert.equal(await convert("a\nb\r\nc\rd\n\r\n\r\re\r"), "a\r\nb\r\nc\r\nd\r\n\r\n\r\n\r\ne\r\n");
  assert.equal(await convert(""), "");
});

test("the result has no bare CR or LF, does not depend on chunking, and converts to itself", async () => {
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^[\r\na\xff]{0,30}$/), fc.integer({ min: 1, max: 5 }), async (text, size) => {
      const whole = await convert(text);
      assert.equal(await convert(text, size), whole);
      assert.equal(await convert(whole, size), whole);
      assert.doesNotMatch(whole, /(?<!\r)\n|\r(?!\n)/);
      assert.equal(whole.replace(/\r\n/g, "\n"), text.replace(/\r\n|\r/g, "\n"));
    }),
  );
});

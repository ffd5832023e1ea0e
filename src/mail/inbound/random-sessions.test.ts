import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import * as fc from "fast-check";
import { runUntilData } from "../mail.testing.ts";
import { openGreetedClient, listen, withoutReceived } from "./listening.testing.ts";

test("no session can crash the server, get more than one reply per line, or deliver a message that was not sent", async (t) => {
  const { port, taken, listener } = await listen(t, { limits: { errorsBeforeDelay: 1000, errors: 1000 } });
  const line = fc.constantFrom(
    "EHLO x\r\n",
    "HELO x\r\n",
    "MAIL FROM:<a@b.example>\r\n",
    "MAIL FROM:<> RET=HDRS\r\n",
    "RCPT TO:<b@here.example>\r\n",
    "RCPT TO:<c@here.example> NOTIFY=NEVER\r\n",
    "DATA\r\n",
    ".\r\n",
    "\r\n",
    "RSET\r\n",
    "NOOP\r\n",
    "QUIT\r\n",
    "AUTH PLAIN\r\n",
    "BDAT 5 LAST\r\n",
    "hello\r\n",
    "\n.\n",
    "\r.\r",
    "\0",
    "..\r\n",
    "STARTTLS\r\n",
    "VRFY\r\n",
    "mail from:<a@b.example>size=1\r\n",
  );
  const piece = fc.oneof(
    { weight: 5, arbitrary: line.map((text) => Buffer.from(text, "latin1")) },
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 25 }), fc.boolean(), async (pieces, oneByOne) => {
      const client = await openGreetedClient(port);
      for (const bytes of pieces) {
        client.send(bytes);
        if (oneByOne) await tick();
      }
      client.socket.end();
      const rest = await client.rest();
      for (const answer of rest.split("\r\n").slice(0, -1)) assert.match(answer, /^[2345]\d\d[ -]/);
      assert.ok(rest.split("\r\n").length <= Buffer.concat(pieces).toString("latin1").split("\n").length * 7 + 1);
    }),
    { numRuns: 150 },
  );
  for (const { envelope, raw } of taken) {
    assert.ok(envelope.to.length > 0);
    assert.doesNotMatch(withoutReceived(raw), /[^\r]\n|\r(?!\n)/);
  }
  while (listener.connections > 0) await tick();
  const before = taken.length;
  const good = await runUntilData(port);
  assert.match(await good.say("x\r\n.\r\n"), /^250 /);
  good.socket.destroy();
  assert.equal(taken.length, before + 1);
});

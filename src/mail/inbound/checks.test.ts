import assert from "node:assert/strict";
import { test } from "node:test";
import { runUntilData } from "../mail.testing.ts";
import type { SmtpReply } from "../messages/index.ts";
import { conversation, listen, withoutReceived } from "./listening.testing.ts";

/** Tests the checks of the recipient, of the client (block lists) and of the content. */

test("defers a recipient whose check fails, even if the rejection cannot be logged", async (t) => {
  const { say } = await conversation(t, {
    checkRecipient: () => Promise.reject(new Error("secret detail")),
    onRejected: () => {
      throw new Error("the log is full");
    },
  });
  await say("MAIL FROM:<a@b.example>");
  assert.equal(await say("RCPT TO:<b@here.example>"), "451 4.3.0 Message processing failed, try again later");
});

test("a client on a block list can send only to postmaster", async (t) => {
  const listed: SmtpReply = {
    code: 554,
    enhanced: "5.7.1",
    text: "127.0.0.1 found on one or more RBLs (bl.example). Refer to https://bl.example/",
  };
  const { say, taken } = await conversation(t, {
    blockLists: { find: async (ip) => (assert.equal(ip, "127.0.0.1"), listed) },
  });
  await say("MAIL FROM:<a@b.example>");
  assert.equal(
    await say("RCPT TO:<b@here.example>"),
    "554 5.7.1 127.0.0.1 found on one or more RBLs (bl.example). Refer to https://bl.example/",
  );
  for (const rcpt of ["Postmaster", "postmaster@here.example"]) assert.match(await say(`RCPT TO:<${rcpt}>`), /^250 /);
  await say("DATA");
  assert.match(await say("x\r\n."), /^250 /);
  assert.equal(taken[0]!.envelope.to.length, 2);
});

test("a content filter can reject, defer and set protected header fields, and its failure does not stop mail", async (t) => {
  const refused: string[] = [];
  const { port, taken, spoolFiles } = await listen(t, {
    onRejected: (_, { code }, stage) => void refused.push(`${stage} ${code}`),
    filter: {
      async check({ from }) {
        if (from.startsWith("spam"))
          return { action: "refuse", reply: { code: 554, enhanced: "5.7.1", text: "Message is spam" } };
        if (from.startsWith("grey"))
          return { action: "refuse", reply: { code: 451, enhanced: "4.7.1", text: "Greylisted, try again later" } };
        if (from.startsWith("tag")) return { action: "tag", fields: [{ name: "X-Spam-Flag", value: "YES" }] };
        if (from.startsWith("broken")) throw new Error("the filter is down");
        return { action: "accept" };
      },
    },
  });
  // Large enough to be in a file during the check.
  const message = `Subject: x\r\nX-SPAM-Flag: NO\r\n folded\r\nTo: y\r\n\r\n${"body\r\n".repeat(60_000)}`;
  const answers: string[] = [];
  for (const from of ["spam@b.example", "grey@b.example", "tag@b.example", "broken@b.example", "fine@b.example"]) {
    const client = await runUntilData(port, { from });
    answers.push((await client.say(`${message}.\r\n`)).slice(0, 9));
    client.socket.destroy();
  }
  assert.deepEqual(answers, ["554 5.7.1", "451 4.7.1", "250 2.6.0", "250 2.6.0", "250 2.6.0"]);
  assert.deepEqual(refused, ["data 554", "data 451"]);
  assert.match(taken[0]!.raw, /^X-Spam-Flag: YES\r\nReceived: [^]*\r\nSubject: x\r\nTo: y\r\n\r\n(?:body\r\n){60000}$/);
  assert.equal(withoutReceived(taken[1]!.raw), message);
  assert.deepEqual(await spoolFiles(), []);
});

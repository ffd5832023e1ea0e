import assert from "node:assert/strict";
import { test } from "node:test";
import { openGreetedClient, listen } from "./listening.testing.ts";

/** RFC 2034 */

test("every reply except the greeting and those to EHLO has an enhanced status code", async (t) => {
  const { port } = await listen(t, { limits: { errorsBeforeDelay: 100, errors: 100 } });
  const answers: string[] = [];
  for (const lines of [
    [
      "NOOP",
      "RSET",
      "VRFY x",
      "HELP",
      "EXPN x",
      "FOO",
      "RCPT TO:<b@here.example>",
      "DATA",
      "MAIL FROM:x",
      "STARTTLS",
      "AUTH PLAIN",
      "BDAT 1 LAST",
      "VRFY",
      "TURN",
      "ETRN x",
    ],
    [
      "MAIL FROM:<a@b.example>",
      "MAIL FROM:<a@b.example>",
      "RCPT TO:<b@here.example>",
      "RCPT TO:x",
      "DATA",
      "x\r\n.",
      "QUIT",
    ],
    ["GET / HTTP/1.1"],
    ["x".repeat(5000)],
  ]) {
    const client = await openGreetedClient(port);
    for (const line of lines) answers.push(await client.say(`${line}\r\n`));
    client.socket.destroy();
  }
  for (const answer of answers.filter((line) => !line.startsWith("354")))
    assert.match(answer, /^([245])\d\d \1\.\d{1,3}\.\d{1,3} \S/, answer);
});

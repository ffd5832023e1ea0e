import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../../kernel/index.ts";
import { clock, ids, memoryTransport } from "../mail.testing.ts";
import type { DeliveryResult } from "../messages/index.ts";
import { createVerificationMail } from "./verification-mail.ts";

const sendWith = (answer?: (rcpt: string) => DeliveryResult) => {
  const transport = memoryTransport(answer);
  return {
    transport,
    send: createVerificationMail({ transport, clock, ids, from: '"Reelpost" <noreply@here.example>' }),
  };
};

test("sends the link from the platform's address as an auto-submitted message", async () => {
  const { transport, send } = sendWith();
  await send("bob@there.example", "https://here.example/email/verify/x");
  assert.deepEqual(
    transport.sent.map(({ from, to }) => [from, to]),
    [["noreply@here.example", ["bob@there.example"]]],
  );
  assert.match(
    transport.sent[0]!.raw,
    /^Auto-Submitted: auto-generated\r\n[^]*https:\/\/here\.example\/email\/verify\/x\r\n/,
  );
});

test("reports a rejected email with the server's reply and a matching fix", async () => {
  const refusal = async (temporary: boolean, code: number, enhanced: string, text: string) => {
    const err = await sendWith((rcpt) => ({ rcpt, ok: false, temporary, reply: { code, enhanced, text } }))
      .send("bob@there.example", "https://here.example/x")
      .catch((thrown: unknown) => thrown);
    assert.ok(err instanceof UserError);
    return [err.kind, err.entry.http, err.message, err.fix];
  };
  assert.deepEqual(await refusal(false, 550, "5.1.1", "no such user"), [
    "verificationRefused",
    422,
    "The verification email to bob@there.example was rejected: 550 5.1.1 no such user",
    "Check the address. If it is correct, have its mail server allow mail from noreply@here.example, then resend the verification email.",
  ]);
  assert.deepEqual(await refusal(true, 452, "4.3.1", "queue full"), [
    "verificationDelayed",
    503,
    "Cannot send the verification email to bob@there.example now: 452 4.3.1 queue full",
    "Resend it later.",
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../../kernel/index.ts";
import { clock, ids, memoryTransport } from "../mail.testing.ts";
import type { DeliveryResult } from "../messages/index.ts";
import { createInvitationMail } from "./invitation-mail.ts";

const INVITATION = {
  to: "bob@there.example",
  account: "Films & Co.",
  invitedBy: "ann@here.example",
  role: "editor",
  expiresAt: Date.UTC(2030, 0, 8, 12),
} as const;
const LINK = "https://dashboard.here.example/sign-in#invite=x";

const sendWith = (answer?: (rcpt: string) => DeliveryResult) => {
  const transport = memoryTransport(answer);
  return {
    transport,
    send: createInvitationMail({ transport, clock, ids, from: '"Reelpost" <noreply@here.example>' }),
  };
};

test("sends the inviter, the account and the link as an auto-submitted message", async () => {
  const { transport, send } = sendWith();
  await send(INVITATION, LINK);
  const [{ from, to, raw }] = transport.sent as [(typeof transport.sent)[number]];
  assert.deepEqual([from, to], ["noreply@here.example", ["bob@there.example"]]);
  assert.match(raw, /^Auto-Submitted: auto-generated\r\n/m);
  const text = raw.slice(raw.indexOf("\r\n\r\n")).replaceAll("=\r\n", "").replaceAll("=3D", "=");
  assert.match(text, /ann@here\.example invited you to the account "Films & Co\." as an editor\./);
  assert.ok(text.includes(LINK), text);
  assert.match(text, /until 2030-01-08 12:00 UTC/);
});

test("removes from the account's name what a mail program would turn into a link", async () => {
  const { transport, send } = sendWith();
  await send({ ...INVITATION, account: "Win at https://evil.example/x or call <b>+1</b>\u202e" }, LINK);
  assert.match(transport.sent[0]!.raw.replaceAll("=\r\n", ""), /"Win at https evil\. example x or call b \+1 b"/);
});

test("reports a rejected invitation with the server's reply and a matching fix", async () => {
  const refusal = async (temporary: boolean, code: number, enhanced: string, text: string) => {
    const err = await sendWith((rcpt) => ({ rcpt, ok: false, temporary, reply: { code, enhanced, text } }))
      .send(INVITATION, LINK)
      .catch((thrown: unknown) => thrown);
    assert.ok(err instanceof UserError);
    return [err.kind, err.entry.http, err.message];
  };
  assert.deepEqual(await refusal(false, 550, "5.1.1", "no such user"), [
    "invitationRefused",
    422,
    "The invitation email to bob@there.example was rejected by the mail server: 550 5.1.1 no such user",
  ]);
  assert.deepEqual(await refusal(true, 452, "4.3.1", "queue full"), [
    "invitationDelayed",
    503,
    "Cannot send the invitation to bob@there.example now: 452 4.3.1 queue full",
  ]);
});

import PostalMime from "postal-mime";

interface Message {
  to: string;
  raw: ReadableStream<Uint8Array>;
  forward(recipient: string): Promise<unknown>;
}

interface Env {
  MAILS: { put(key: string, value: string): Promise<void> };
}

/** What a usual Email Worker does to a message: parse it, note it, pass it on. */
export default {
  async email(message: Message, env: Env): Promise<void> {
    if (message.to.startsWith("large@")) await readToTheEnd(message.raw);
    else await note(message, env);
    await message.forward("archive@example.net");
  },
};

async function note(message: Message, env: Env): Promise<void> {
  const mail = await PostalMime.parse(message.raw);
  if (mail.messageId === undefined || mail.subject === undefined) throw new Error("the message was not parsed");
  await env.MAILS.put(mail.messageId, JSON.stringify({ from: mail.from, subject: mail.subject, attachments: mail.attachments.length }));
}

async function readToTheEnd(raw: ReadableStream<Uint8Array>): Promise<void> {
  const reader = raw.getReader();
  for (;;) if ((await reader.read()).done) return;
}

import PostalMime from "postal-mime";

interface Message {
  to: string;
  raw: ReadableStream<Uint8Array>;
  forward(recipient: string): Promise<unknown>;
}

interface Env {
  MAILS: { put(key: string, value: string): Promise<void> };
}

/**
 * A typical Email Worker: parses a message, stores a note and forwards it. Some recipients select less work: `only-read@`
 * just reads the message, `forward@` just forwards it, `read@` reads and forwards it.
 */
export default {
  async email(message: Message, env: Env): Promise<void> {
    if (message.to.startsWith("only-read@")) return void (await new Response(message.raw).arrayBuffer());
    if (message.to.startsWith("read@")) await new Response(message.raw).arrayBuffer();
    else if (!message.to.startsWith("forward@")) await note(message, env);
    await message.forward("archive@example.net");
  },
};

async function note(message: Message, env: Env): Promise<void> {
  const mail = await PostalMime.parse(message.raw);
  if (mail.messageId === undefined || mail.subject === undefined) throw new Error("the message was not parsed");
  await env.MAILS.put(
    mail.messageId,
    JSON.stringify({ from: mail.from, subject: mail.subject, attachments: mail.attachments.length }),
  );
}

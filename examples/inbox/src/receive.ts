import PostalMime, { type Attachment as ParsedAttachment, type Email } from "postal-mime";
import { recount } from "./counters.ts";
import type { Env } from "./env.ts";
import { createMessagesTable, type Attachment, type StoredMessage } from "./messages-table.ts";

// A D1 row holds up to 2 MB. Longer text is truncated in the index; truncation would break HTML, so the plain text is
// shown instead.
const indexedCharacters = 200_000;
const subjectCharacters = 998; // Line length limit of RFC 5322 2.1.1.

/**
 * Stores one message: attachments first and the row last, so that a row never refers to missing objects. A message
 * delivered twice has the same id and replaces the earlier copy.
 */
export async function receive(message: ForwardableEmailMessage, env: Env): Promise<StoredMessage> {
  const mail = await PostalMime.parse(message.raw);
  const id = await idOf(mail, message);
  const attachments = await Promise.all(
    mail.attachments.map((attachment, number) => storeAttachment(env, id, number, attachment)),
  );
  const stored: StoredMessage = {
    id,
    sender: mail.from?.address ?? message.from,
    senderName: mail.from?.name ?? "",
    recipient: message.to,
    subject: (mail.subject ?? "(no subject)").slice(0, subjectCharacters),
    text: (mail.text ?? "").slice(0, indexedCharacters),
    html: mail.html !== undefined && mail.html.length <= indexedCharacters ? mail.html : null,
    size: message.rawSize,
    receivedAt: new Date().toISOString(),
    attachments,
  };
  await createMessagesTable(env.MESSAGES).put(stored);
  await recount(env);
  return stored;
}

async function storeAttachment(
  env: Env,
  id: string,
  number: number,
  { filename, mimeType, content }: ParsedAttachment,
): Promise<Attachment> {
  const name = filename ?? `attachment-${number + 1}`;
  const object = await env.ATTACHMENTS.put(`${id}/${number}`, content, { httpMetadata: { contentType: mimeType } });
  return { number, name, type: mimeType, size: object.size };
}

/** The id is the same for every delivery of one message to one recipient. */
async function idOf(mail: Email, message: ForwardableEmailMessage): Promise<string> {
  const identity = new TextEncoder().encode(`${mail.messageId ?? crypto.randomUUID()}\n${message.to}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", identity));
  return Array.from(digest.subarray(0, 12), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

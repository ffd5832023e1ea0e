import MailComposer from "nodemailer/lib/mail-composer";
import type { Mailbox } from "../../protocol/rfc5322/index.ts";
import { formatField } from "../messages/index.ts";
import type { Draft } from "./draft.ts";

/** Builds the message of a draft. Bcc recipients do not appear in it. `headers` follow the draft's own headers. */
export async function compose(draft: Draft, { messageId, at }: { messageId: string; at: Date }): Promise<Buffer> {
  const node = new MailComposer({
    from: toNamedAddress(draft.from),
    to: draft.to.map(toNamedAddress),
    cc: draft.cc.map(toNamedAddress),
    replyTo: draft.replyTo && toNamedAddress(draft.replyTo),
    subject: draft.subject,
    messageId,
    date: at,
    text: draft.text,
    html: draft.html,
    attachments: draft.attachments.map(({ filename, type, content, disposition, contentId }) => ({
      filename,
      contentType: type,
      content,
      contentDisposition: disposition,
      cid: contentId,
    })),
    // A message from a worker must not make this process open a file or URL.
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: "win",
  }).compile();
  const builtMessage = await node.build();
  return Buffer.concat([
    Buffer.from(draft.headers.map(([name, value]) => formatField(name, value)).join("")),
    builtMessage,
  ]);
}

const toNamedAddress = ({ name, address }: Mailbox) => ({ name, address });

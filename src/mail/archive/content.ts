import PostalMime, { decodeWords, type Address, type Attachment, type Email } from "postal-mime";

/** A message as a mail client shows it. Everything in it is untrusted. */
export interface MessageContent {
  /** Fields in order, decoded and unfolded. */
  headers: { name: string; value: string }[];
  from: MessageAddress[];
  to: MessageAddress[];
  cc: MessageAddress[];
  replyTo: MessageAddress[];
  subject: string;
  /** As in the message: not necessarily a valid date. */
  date: string | undefined;
  text: string | undefined;
  html: string | undefined;
  attachments: MessageAttachment[];
}

interface MessageAddress {
  name: string;
  address: string;
}

interface MessageAttachment {
  disposition: "attachment" | "inline" | undefined;
  filename: string | undefined;
  /** Lower case, without parameters. */
  type: string;
  /** True if the HTML shows it. */
  inline: boolean;
  /** Without angle brackets. */
  contentId: string | undefined;
  content: Uint8Array;
}

/** Deeper nesting and larger headers are errors, so that parsing takes linear time. */
const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 1024 * 1024, maxRfc822NestingDepth: 5 };
const MAX_HEADERS = 1000;
const MAX_ADDRESSES = 1000;
const MAX_ATTACHMENTS = 1000;

/** Parses a raw message. Rejects if it exceeds the limits. */
export async function readMessageContent(raw: Uint8Array): Promise<MessageContent> {
  const email = await PostalMime.parse(raw, { ...LIMITS, attachmentEncoding: "arraybuffer" });
  const { headers, from, to, cc, replyTo, subject = "", text, html, attachments } = email;
  return {
    headers: headers.slice(0, MAX_HEADERS).map(({ originalKey: name, value }) => ({ name, value: decodeWords(value) })),
    from: addresses(from === undefined ? [] : [from]),
    to: addresses(to),
    cc: addresses(cc),
    replyTo: addresses(replyTo),
    subject,
    date: dateOf(email),
    text: text || undefined,
    html: html || undefined,
    attachments: attachments.slice(0, MAX_ATTACHMENTS).map((attachment) => attachmentOf(attachment, html ?? "")),
  };
}

const addresses = (list: Address[] = []): MessageAddress[] =>
  list
    .flatMap((one) => (one.group === undefined ? [{ name: one.name, address: one.address }] : one.group))
    .slice(0, MAX_ADDRESSES);

const dateOf = ({ headers }: Email) => headers.find(({ key }) => key === "date")?.value;

function attachmentOf(
  { filename, mimeType, disposition, related, contentId, content }: Attachment,
  html: string,
): MessageAttachment {
  const id = contentId?.replace(/^<|>$/g, "");
  return {
    filename: filename ?? undefined,
    disposition: disposition ?? undefined,
    type: mimeType.toLowerCase(),
    inline: id !== undefined && (disposition === "inline" || related === true) && html.includes(`cid:${id}`),
    contentId: id,
    content: typeof content === "string" ? Buffer.from(content) : new Uint8Array(content),
  };
}

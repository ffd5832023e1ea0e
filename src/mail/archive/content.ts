import PostalMime, { decodeWords } from "postal-mime";

/** A message as a mail client shows it. */
export interface MessageContent {
  /** Header fields in order, decoded and unfolded. */
  headers: { name: string; value: string }[];
  text: string | null;
  /** Untrusted: show it only in a sandboxed frame. */
  html: string | null;
  attachments: MessageAttachment[];
}

export interface MessageAttachment {
  /** Position in `attachments`. */
  index: number;
  filename: string | null;
  type: string;
  disposition: "attachment" | "inline" | null;
  /** Without angle brackets; HTML refers to it by `cid:`. */
  contentId: string | null;
  size: number;
}

/** Messages with deeper nesting or larger headers are rejected, so that parsing stays fast. */
const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 1024 * 1024 };
const MAX_HEADERS = 1000;
const MAX_ATTACHMENTS = 1000;

const parse = (raw: Uint8Array) => PostalMime.parse(raw, { ...LIMITS, attachmentEncoding: "arraybuffer" });
const bytesOf = (content: ArrayBuffer | Uint8Array | string): Uint8Array =>
  typeof content === "string" ? Buffer.from(content) : new Uint8Array(content);

/** Parses a raw message. Rejects if the message exceeds the limits. */
export async function readContent(raw: Uint8Array): Promise<MessageContent> {
  const { headers, text, html, attachments } = await parse(raw);
  return {
    headers: headers.slice(0, MAX_HEADERS).map(({ originalKey: name, value }) => ({ name, value: decodeWords(value) })),
    text: text ?? null,
    html: html ?? null,
    attachments: attachments.slice(0, MAX_ATTACHMENTS).map((attachment, index) => ({
      index,
      filename: attachment.filename,
      type: attachment.mimeType,
      disposition: attachment.disposition,
      contentId: attachment.contentId?.replace(/^<|>$/g, "") ?? null,
      size: bytesOf(attachment.content).length,
    })),
  };
}

/** An attachment by its index; undefined if there is none. Rejects as `readContent`. */
export async function readAttachment(
  raw: Uint8Array,
  index: number,
): Promise<{ filename: string | null; type: string; content: Uint8Array } | undefined> {
  const attachment = (await parse(raw)).attachments[index];
  return (
    attachment && {
      filename: attachment.filename,
      type: attachment.mimeType,
      content: bytesOf(attachment.content),
    }
  );
}

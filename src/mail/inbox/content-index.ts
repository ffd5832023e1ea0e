import { readMessageContent, type MessageContent } from "../archive/index.ts";
import type { MessageIndex } from "./messages-table.ts";
import { textOfHtml } from "./text-of-html.ts";
import type { InboxMessage } from "./types.ts";

/** Maximum number of bytes of a message to index for the list and the search. Parsing takes about 100 ms per 10 MB. */
export const MAX_INDEXED_BYTES = 1024 * 1024;
/** Maximum number of characters of the text that the search covers. */
const MAX_SEARCH_TEXT = 64 * 1024;
const MAX_PREVIEW = 200;
const MAX_SUBJECT = 1000;

/** Extracts the fields for the list and the search. `raw` is the beginning of the message. */
export async function indexMessage({ id, from, to }: InboxMessage, raw: Uint8Array): Promise<MessageIndex> {
  // A message that cannot be parsed is listed without a subject.
  const content = await readMessageContent(raw).catch((): MessageContent | undefined => undefined);
  const { subject = "", text, html, attachments = [] } = content ?? {};
  const visibleText = text ?? (html === undefined ? "" : textOfHtml(html.slice(0, 4 * MAX_SEARCH_TEXT)));
  const addresses = (list: MessageContent["to"] = []) => list.map(({ name, address }) => `${name} <${address}>`);
  const filenames = attachments.map(({ filename }) => filename ?? "");
  return {
    id,
    fields: {
      author: addresses(content?.from).map((one) => one.replace(/^ <(.*)>$/, "$1"))[0] ?? "",
      subject: clean(subject).slice(0, MAX_SUBJECT),
      messageId: messageIdOf(content),
      preview: previewOf(visibleText),
      attachments: attachments.filter(({ inline }) => !inline).length,
    },
    keys: {
      from: keyText([from, ...addresses(content?.from), ...addresses(content?.replyTo)]),
      to: keyText([...to, ...addresses(content?.to), ...addresses(content?.cc)]),
      subject: keyText([subject]),
      text: keyText([visibleText.slice(0, MAX_SEARCH_TEXT), ...filenames]),
    },
  };
}

function previewOf(text: string): string {
  const start = clean(text.slice(0, 4 * MAX_PREVIEW));
  return start.replace(/\s+/g, " ").trim().slice(0, MAX_PREVIEW);
}

function messageIdOf(content: MessageContent | undefined): string | undefined {
  const value = content?.headers.find(({ name }) => name.toLowerCase() === "message-id")?.value;
  return value === undefined ? undefined : clean(value).slice(0, MAX_SUBJECT);
}

/** PostgreSQL rejects U+0000 and lone surrogates. */
const clean = (text: string): string => text.replaceAll("\0", " ").toWellFormed();

const keyText = (texts: string[]): string => clean(texts.join("\n").toLowerCase());

import {
  addressKey,
  headerValue,
  headerValues,
  parseAddress,
  parseAddressList,
  type Mailbox,
} from "../../protocol/rfc5322/index.ts";
import { mailErrors } from "../errors.ts";
import { readMessage, type ParsedMessage } from "../messages/index.ts";
import { MAX_LISTED, recipientsOf } from "./draft.ts";
import { checkRawMessage } from "./raw.ts";
import type { SendRequest } from "./types.ts";

/** An outgoing message, parsed and validated. */
export interface OutgoingMessage {
  /** The author shown to the recipient; the author's domain signs the message. */
  author: Mailbox;
  /** Envelope sender; undefined for the null sender. */
  sender: Mailbox | undefined;
  /** Recipients without duplicates; `text` is the caller's spelling. */
  recipients: { text: string; mailbox: Mailbox }[];
  subject: string;
  /** Other senders in the header whose domain differs from the author's, each with its field. */
  otherSenders: { field: string; mailbox: Mailbox }[];
  /** Set for a complete (raw) message. */
  message?: ParsedMessage;
}

/** Throws UserError if the request is invalid. */
export function readOutgoingMessage({ via, from, to, draft, raw }: SendRequest): OutgoingMessage {
  if (draft !== undefined) {
    return {
      otherSenders: [],
      author: draft.from,
      sender: draft.from,
      recipients: recipientsOf(draft).map((mailbox) => ({ text: mailbox.address, mailbox })),
      subject: draft.subject,
    };
  }
  if (to.length > MAX_LISTED) throw mailErrors.tooManyRecipients({ count: to.length, limit: MAX_LISTED });
  const sender = from === "" ? undefined : mailboxOf(from, "from");
  const message = readMessage(raw);
  // A binding has its own rules; otherwise a message may specify who sends on behalf of whom.
  if (via === "binding") checkRawMessage(message, sender ?? mailboxOf(from, "from"));
  const author = onlyAuthor(message);
  const recipients = new Map(
    to
      .map((text, at) => [text, mailboxOf(text, via === "rest_raw" ? `recipients[${at}]` : "to")] as const)
      .map(([text, mailbox]) => [addressKey(mailbox), { text, mailbox }]),
  );
  return {
    author,
    sender,
    recipients: [...recipients.values()],
    subject: headerValue(message.fields, "subject") ?? "",
    otherSenders: otherSenders(message, author),
    message,
  };
}

/** Mail clients show these fields together with the author or instead of the author (RFC 5322 3.6.2, 3.6.6). */
const SENDER_FIELDS = [
  { name: "sender", field: "Sender" },
  { name: "resent-from", field: "Resent-From" },
  { name: "resent-sender", field: "Resent-Sender" },
];

function otherSenders({ fields }: ParsedMessage, author: Mailbox): OutgoingMessage["otherSenders"] {
  const otherMailboxes = new Map<string, OutgoingMessage["otherSenders"][number]>();
  for (const { name, field } of SENDER_FIELDS) {
    for (const value of headerValues(fields, name)) {
      const mailboxes = parseAddressList(value);
      if (mailboxes === undefined || mailboxes.length === 0)
        throw mailErrors.senderFieldInvalid({ field, value: JSON.stringify(value.slice(0, 100)) });
      for (const mailbox of mailboxes)
        if (mailbox.domain !== author.domain && !otherMailboxes.has(mailbox.domain))
          otherMailboxes.set(mailbox.domain, { field, mailbox });
    }
  }
  if (otherMailboxes.size > MAX_OTHERS)
    throw mailErrors.tooManySenders({ count: otherMailboxes.size, limit: MAX_OTHERS });
  return [...otherMailboxes.values()];
}

/** Maximum number of sender domains looked up per message. */
const MAX_OTHERS = 20;

/**
 * With two From fields (RFC 5322 3.6 allows one) or two authors, clients may display the one whose domain was not
 * checked.
 */
function onlyAuthor({ from, fields }: ParsedMessage): Mailbox {
  const [author, ...otherAuthors] = from;
  const fromCount = headerValues(fields, "from").length;
  if (author === undefined || otherAuthors.length > 0 || fromCount > 1)
    throw mailErrors.authorUnclear({
      what:
        author === undefined
          ? "no address"
          : fromCount > 1
            ? `authors in ${fromCount} fields`
            : `${from.length} authors`,
    });
  return author;
}

function mailboxOf(text: string, field: string): Mailbox {
  const mailbox = parseAddress(text);
  if (mailbox === undefined)
    throw mailErrors.invalidField({ field, why: `is not an email address: ${JSON.stringify(text.slice(0, 100))}` });
  return mailbox;
}

import type { Envelope, MailSource, SmtpReply } from "../messages/index.ts";

/** What can be said of a recipient before the message is there (RFC 5321 3.3). Undefined: it may come. `envelope` is what the session has said so far. */
export type CheckRecipient = (rcpt: string, envelope: Envelope) => Promise<SmtpReply | undefined>;

/** Judges what a message says, after it is whole and before anybody receives it. A filter that fails lets the message pass. */
export interface ContentFilter {
  /** The source stays the caller's. May reject. */
  check(envelope: Envelope, source: MailSource): Promise<FilterVerdict>;
}

export type FilterVerdict =
  | { action: "accept" }
  /** It passes, with these fields on top. */
  | { action: "tag"; fields: { name: string; value: string }[] }
  /** 5xx for good, 4xx for a sender who may come again. */
  | { action: "refuse"; reply: SmtpReply };

/** Says whether block lists name an address. Never rejects: a list that does not answer names nobody. */
export interface BlockLists {
  find(ip: string): Promise<SmtpReply | undefined>;
}

/** Told of what was refused before anybody received it. `stage` is the command that was answered. */
export type OnRefused = (envelope: Envelope, reply: SmtpReply, stage: "mail" | "rcpt" | "data") => void;

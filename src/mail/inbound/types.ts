import type { TranscriptLine } from "./transcript.ts";
import type { Envelope, MailSource, SmtpReply } from "../messages/index.ts";

/**
 * Checks a recipient before the message arrives (RFC 5321 3.3). Undefined means accept. `envelope` is what the session
 * has received so far.
 */
export type CheckRecipient = (rcpt: string, envelope: Envelope) => Promise<SmtpReply | undefined>;

/** Checks the content of a complete message before delivery. If the filter fails, the message is accepted. */
export interface ContentFilter {
  /** Checks the content of a message. The caller still owns the source. May reject. */
  check(envelope: Envelope, source: MailSource): Promise<FilterVerdict>;
}

export type FilterVerdict =
  | { action: "accept" }
  /** Accept the message, with these fields on top. */
  | { action: "tag"; fields: { name: string; value: string }[] }
  /** 5xx: permanent; 4xx: the sender may retry. */
  | { action: "refuse"; reply: SmtpReply };

/**
 * Checks whether block lists contain an address. Never rejects: if a list does not respond, the address counts as not
 * listed.
 */
export interface BlockLists {
  find(ip: string): Promise<SmtpReply | undefined>;
}

/**
 * Called for mail rejected before it was received. `stage` is the rejected command; the transcript contains the
 * rejection, if the server records transcripts.
 */
export type OnRejected = (
  envelope: Envelope,
  reply: SmtpReply,
  stage: "mail" | "rcpt" | "data",
  transcript?: TranscriptLine[],
) => void;

/** A message that was received, and the session that it arrived in. */
export type OnTranscript = (message: { id: string; to: string[]; transcript: TranscriptLine[] }) => void;

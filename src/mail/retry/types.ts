import type { Owner } from "../actions/index.ts";
import type { Verdict } from "../authenticate/index.ts";
import type { Envelope, MailSource, DeliveryResult, SmtpReply } from "../messages/index.ts";

/** A recipient that does not have the message yet, and the last reply. */
export interface RetryRecipient extends Owner {
  rcpt: string;
  reply: SmtpReply;
  /** The destination addresses that do not have the message yet, if others have it. */
  to?: string[];
  /** True if permanently rejected: only the report to the sender remains to be sent. */
  bounce?: true;
}

/** An accepted message that some recipients do not have yet. */
export interface RetryMail {
  envelope: Envelope;
  /** The message with the Authentication-Results field of this server. */
  source: MailSource;
  verdict?: Verdict | undefined;
  recipients: RetryRecipient[];
}

/** The result of another attempt for a recipient. */
export type RetryResult = DeliveryResult & { to?: string[] };

/**
 * Retries one recipient and waits for the waitUntil() work of its worker. Never rejects. The caller keeps ownership of
 * the source.
 */
export type Retry = (mail: RetryMail, recipient: RetryRecipient) => Promise<RetryResult>;

/** Queue of accepted mail that some recipients do not have yet: retried for days, then bounced. */
export interface RetryQueue {
  /** Resolves when the message and its recipients are on disk. The caller keeps ownership of the source. */
  add(mail: RetryMail): Promise<void>;
  /** Starts retrying in this process. */
  start(retry: Retry): void;
  /** Starts no further attempt and waits for those in progress. */
  stop(): Promise<void>;
}

import type { Owner } from "../actions/index.ts";
import type { Verdict } from "../authenticate/index.ts";
import type { Envelope, MailSource, DeliveryResult, SmtpReply } from "../messages/index.ts";

/** A recipient without the message, and the last reply. */
export interface RetryRecipient extends Owner {
  rcpt: string;
  reply: SmtpReply;
  /** The destination addresses that still lack the message, if others have it. */
  to?: string[];
  /** Permanently rejected: only the report to the sender is missing. */
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
export type Retried = DeliveryResult & { to?: string[] };

/** Retries one recipient and waits for the waitUntil() work of its worker. Never rejects. The caller keeps ownership of the source. */
export type Retry = (mail: RetryMail, recipient: RetryRecipient) => Promise<Retried>;

/** Accepted mail that some recipients do not have: retried for days, then bounced. */
export interface RetryQueue {
  /** Resolves when message and recipients are on disk. The caller keeps ownership of the source. */
  add(mail: RetryMail): Promise<void>;
  /** Starts retrying in this process. */
  start(retry: Retry): void;
  /** Starts no further attempt and waits for those in progress. */
  stop(): Promise<void>;
}

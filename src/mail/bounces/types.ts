import type { Envelope, MailSource, DeliveryResult, SmtpReply } from "../messages/index.ts";
import type { DeliveryFailure } from "../outbound/index.ts";

/** Owner of the mail; omitted for system mail. */
interface Owner {
  account?: string | undefined;
  /** Id of the zone. */
  zone?: string | undefined;
}

/** A forward whose return path is a token, because its sender does not fit into the path or is not authenticated. */
export interface ReturnPathRequest extends Owner {
  sender: string;
  /** True if the sender is authenticated and may get bounces. For other senders, bounces are traced and dropped. */
  senderAuthenticated: boolean;
  /** The inbound message and recipient that bounces are traced under. */
  inbound: { id: string; rcpt: string };
}

/** Mail from a local account, with VERP return paths at `<sending label>.<domain>`. */
export interface SendingPathsRequest extends Owner {
  domain: string;
  /** With angle brackets. */
  messageId: string;
  /** The recipients. */
  to: string[];
  /** Message id that its steps are traced under. Default: the Message-ID. */
  message?: string;
  /** The sender set by the account; gets bounces only if NOTIFY requests them. */
  from?: string;
}

/** A failure that this server must report because it has accepted the message. */
export interface BounceRequest extends Owner {
  /** The inbound message. */
  inbound: { id: string };
  envelope: Pick<Envelope, "from" | "dsn">;
  /** True if the sender is authenticated; others get no report. */
  senderAuthenticated: boolean;
  recipients: Outcome[];
  /** The message as received. The caller still owns it and discards it when the promise settles. */
  source: Pick<MailSource, "size" | "headerBlock" | "open">;
  arrivedAt: Date;
}

/** Result for a recipient, identified by the address that the sender used. */
interface Outcome {
  rcpt: string;
  reply: SmtpReply;
  /**
   * Default "failed". "relayed": accepted by a next hop without DSN support. Actions other than "failed" are reported
   * only on request (NOTIFY).
   */
  action?: "failed" | "delayed" | "relayed" | "delivered";
  /** The server that replied. */
  host?: string;
  /** For a delayed recipient. */
  retryUntil?: Date;
}

/** Bounces of outgoing mail, and reports to its senders. */
export interface Bounces {
  /**
   * Returns the envelope sender for a forward. If the sender is authenticated, the path is on disk when the promise
   * resolves.
   */
  pathFor(request: ReturnPathRequest): Promise<string>;
  /**
   * Returns one envelope sender per recipient, in the same order, so that one recipient's return path cannot be used to
   * report another recipient. The paths are on disk when the promise resolves.
   */
  pathsFor(request: SendingPathsRequest): Promise<string[]>;
  /** True if the address has the form of a return path (SRS, VERP, token), valid or not. Needs no lookup. */
  isReturnPath(rcpt: string): boolean;
  /**
   * Returns the reply to RCPT: a rejection for a forged or expired address, or for mail that is not a bounce. Undefined
   * means accept.
   */
  check(rcpt: string, envelope: Pick<Envelope, "from">): Promise<SmtpReply | undefined>;
  /**
   * Processes mail to a return path. `isAuthenticated`: true if its author is authenticated; called only for
   * complaints. Rejects only with a UserError that has an SMTP reply. The caller keeps ownership of the source.
   */
  process(mail: {
    rcpt: string;
    envelope: Envelope;
    source: MailSource;
    isAuthenticated: () => Promise<boolean>;
  }): Promise<DeliveryResult>;
  /**
   * Reports a failure to the sender if it is authenticated, not null, and has not disabled reports (NOTIFY). Resolves
   * with true when the report is on disk, with false if none will be sent. Rejects if it cannot be stored now.
   */
  bounce(request: BounceRequest): Promise<boolean>;
}

/** The interface used by the owner of the queue and the database. */
export interface BouncesService extends Bounces {
  /**
   * For the outbound queue: reports failures to the sender, and suppresses addresses to which sent mail cannot be
   * delivered. If it rejects, it must be called again.
   */
  onFailed(failure: DeliveryFailure): Promise<void>;
  /** Updates the suppression list from a next hop's SMTP reply to mail sent by an account. */
  recordRejection(mail: { account: string; domain: string; rcpt: string; reply: SmtpReply }): Promise<void>;
  /** Writes pending paths; call before shutdown. */
  flush(): Promise<void>;
  /** Sends the delay and relay notifications that NOTIFY requests, and deletes expired data. Call once a minute. */
  sweep(): Promise<void>;
}

export type BounceReason = "hard_bounce" | "soft_bounce" | "complaint";

/** The part of an account's suppression list that bounces need. */
export interface BounceList {
  /** Adds an entry; an existing entry that expires later is kept. Idempotent. `expiresAt` null: never expires. */
  add(entry: {
    account: string;
    email: string;
    reason: BounceReason;
    expiresAt: Date | null;
    domain?: string;
    note?: string;
  }): Promise<void>;
}

import type { Envelope, MailSource, DeliveryResult, SmtpReply } from "../messages/index.ts";
import type { Failure } from "../outbound/index.ts";

/** Whose mail it is; left out for the platform's own. */
interface Owner {
  account?: string | undefined;
  /** The zone's id. */
  zone?: string | undefined;
}

/** A forward with a token as return path, because its sender does not fit into one or is not authenticated. */
export interface ReturnPathRequest extends Owner {
  sender: string;
  /** True if the sender is authenticated and may get bounces. For other senders, bounces are traced and dropped. */
  senderAuthenticated: boolean;
  /** The inbound message and recipient that bounces are traced under. */
  inbound: { id: string; rcpt: string };
}

/** Mail of a local account: VERP at `<sending label>.<domain>`. */
export interface SendingPathsRequest extends Owner {
  domain: string;
  /** With angle brackets. */
  messageId: string;
  /** The recipients. */
  to: string[];
  /** Message id that its steps are traced under. Default: the Message-ID. */
  message?: string;
  /** The sender that the account set; gets bounces only if NOTIFY requests them. */
  from?: string;
}

/** A failure that we answer for, since the message has been taken. */
export interface BounceRequest extends Owner {
  /** The inbound message. */
  inbound: { id: string };
  envelope: Pick<Envelope, "from" | "dsn">;
  /** Whether the sender is who it seems to be: nobody else is told. */
  senderAuthenticated: boolean;
  recipients: Outcome[];
  /** The message as it came. Not the callee's: it is discarded when the promise ends. */
  source: Pick<MailSource, "size" | "headerBlock" | "open">;
  arrivedAt: Date;
}

/** What became of a recipient, by the address that the sender knows. */
export interface Outcome {
  rcpt: string;
  reply: SmtpReply;
  /** Default "failed". "relayed": a next hop that sends no notices has it. The others than "failed" are told only to those who asked (NOTIFY). */
  action?: "failed" | "delayed" | "relayed" | "delivered";
  /** The server that answered. */
  host?: string;
  /** Of a delayed one. */
  retryUntil?: Date;
}

/** What comes back of mail that left, and who is told. */
export interface Bounces {
  /** The envelope sender for a forward. When it resolves, its token is on disk if the sender is authenticated. */
  pathFor(request: ReturnPathRequest): Promise<string>;
  /** One envelope sender per recipient, in the same order, so that a recipient cannot report another. On disk when it resolves. */
  pathsFor(request: SendingPathsRequest): Promise<string[]>;
  /** Whether an address has the form of one of ours (SRS, VERP, token), whatever it is worth. Answered without asking anybody. */
  isReturnPath(rcpt: string): boolean;
  /** What can be said at RCPT: a refusal for one that is forged, expired, or for mail that is no bounce. Undefined: it may come. */
  check(rcpt: string, envelope: Pick<Envelope, "from">): Promise<SmtpReply | undefined>;
  /**
   * Processes mail to a return path. `isAuthenticated`: true if its author is authenticated; called only for complaints. Rejects only with a
   * UserError that has an SMTP reply. The caller keeps ownership of the source.
   */
  process(mail: {
    rcpt: string;
    envelope: Envelope;
    source: MailSource;
    isAuthenticated: () => Promise<boolean>;
  }): Promise<DeliveryResult>;
  /**
   * Tells the sender, where it may be told: it is vouched for, not null, and has not asked to hear nothing (NOTIFY). Resolves when the report
   * is on the disk (true), or nobody is to be told (false). Rejects when it cannot be kept now.
   */
  bounce(request: BounceRequest): Promise<boolean>;
}

/** The same, seen by those who have the queue and the database. */
export interface BouncesService extends Bounces {
  /** For the outbound queue: tells the sender of what failed, and suppresses addresses that sent mail cannot reach. Rejects to be called again. */
  onFailed(failure: Failure): Promise<void>;
  /** Notes for the suppression list what a next hop answered in the session to mail that an account sent. */
  noteRefused(mail: { account: string; domain: string; rcpt: string; reply: SmtpReply }): Promise<void>;
  /** Writes what nobody waited for: for the end. */
  flush(): Promise<void>;
  /** Warnings that mail is late and notices that it went on, where NOTIFY asks for them; and deletes what is over. For one call a minute. */
  sweep(): Promise<void>;
}

export type BounceReason = "hard_bounce" | "soft_bounce" | "complaint";

/** The list of addresses that an account sends nothing to, as far as bounces need it. */
export interface BounceList {
  /** Adds an entry; one that is there already and lasts longer stays. Safe to repeat. `expiresAt` null: for ever. */
  add(entry: {
    account: string;
    email: string;
    reason: BounceReason;
    expiresAt: Date | null;
    domain?: string;
    note?: string;
  }): Promise<void>;
}

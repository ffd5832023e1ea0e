import type { Envelope, MailSource, Settled, SmtpReply } from "../messages/types.ts";
import type { Failure } from "../outbound/queue/settle.ts";

/** Whose mail it is; left out for the platform's own. */
interface Owner {
  account?: string | undefined;
  /** The zone's id. */
  zone?: string | undefined;
}

/** What a return path is wanted for. */
export type ReturnPathRequest =
  | (Owner & {
      /** A forward whose sender cannot be written into a return path, or must not, since nobody vouches for it: a token stands for it. */
      use: "forward";
      sender: string;
      /** Whether the sender is who it seems to be, and may be told of failures. What comes back for others is traced and goes no further. */
      vouched: boolean;
      /** The message, and which recipient of it: under these names what comes back is traced. */
      inbound: { id: string; rcpt: string };
    })
  | (Owner & {
      /** Mail of ours: VERP at `<sending label>.<domain>`. */
      use: "sending";
      domain: string;
      /** With angle brackets. */
      messageId: string;
      /** Whom it goes to: a report about anybody else is not believed. */
      to: string[];
      /** What its steps are traced under. Default: the Message-ID. */
      message?: string;
      /** The sender as the account gave it; told of failures only where NOTIFY asks for that. */
      from?: string;
    });

/** A failure that we answer for, since the message has been taken. */
export interface BounceRequest extends Owner {
  /** The inbound message. */
  inbound: { id: string };
  envelope: Pick<Envelope, "from" | "dsn">;
  /** Whether the sender is who it seems to be: nobody else is told. */
  vouched: boolean;
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
export interface Returns {
  /** The envelope sender for a message on its way out; what it stands for is on the disk when it resolves, unless nobody vouches for the sender. */
  pathFor(request: ReturnPathRequest): Promise<string>;
  /** Whether an address has the form of one of ours (SRS, VERP, token), whatever it is worth. Answered without asking anybody. */
  isReturnPath(rcpt: string): boolean;
  /** What can be said at RCPT: a refusal for one that is forged, expired, or for mail that is no bounce. Undefined: it may come. */
  check(rcpt: string, envelope: Pick<Envelope, "from">): Promise<SmtpReply | undefined>;
  /** Takes mail for a return path through to its end. Rejects only with a UserError that has an SMTP answer. The source stays the caller's. */
  take(mail: { rcpt: string; envelope: Envelope; source: MailSource }): Promise<Settled>;
  /**
   * Tells the sender, where it may be told: it is vouched for, not null, and has not asked to hear nothing (NOTIFY). Resolves when the report
   * is on the disk (true), or nobody is to be told (false). Rejects when it cannot be kept now.
   */
  bounce(request: BounceRequest): Promise<boolean>;
}

/** The same, seen by those who have the queue and the database. */
export interface ReturnsService extends Returns {
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
  add(entry: { account: string; email: string; reason: BounceReason; expiresAt: Date | null; domain?: string; note?: string }): Promise<void>;
}

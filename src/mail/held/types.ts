import type { Owner } from "../actions/tell.ts";
import type { Verdict } from "../authenticate/verdict.ts";
import type { Envelope, MailSource, Settled, SmtpReply } from "../messages/types.ts";

/** A recipient that still waits, and what was said last. */
export interface HeldRecipient extends Owner {
  rcpt: string;
  reply: SmtpReply;
  /** Where only some of the addresses it leads to are left: those. */
  to?: string[];
  /** Refused for good: its sender has to be told, nothing else. */
  bounce?: true;
}

/** A message that was taken although some of its recipients could not have it yet. */
export interface HeldMail {
  envelope: Envelope;
  /** As it is handed to recipients, with our results of authentication on top. */
  source: MailSource;
  verdict?: Verdict | undefined;
  recipients: HeldRecipient[];
}

/** What became of a recipient in another attempt. */
export type Retried = Settled & { to?: string[] };

/** Tries a recipient of a held message once more, to the end of all that its worker does. Never rejects. The source stays the caller's. */
export type Retry = (mail: HeldMail, recipient: HeldRecipient) => Promise<Retried>;

/** Mail we have answered 250 for and could not bring to all its recipients: tried again for days, then bounced. */
export interface Held {
  /** Resolves when message and recipients are on the disk. The source stays the caller's. */
  hold(mail: HeldMail): Promise<void>;
  /** Works off what is held, in this process. */
  start(retry: Retry): void;
  /** Begins nothing more and lets what runs end. */
  stop(): Promise<void>;
}

import type { Readable } from "node:stream";
import type { DsnEvent, MailRequest, RecipientRequest } from "../../protocol/dsn/index.ts";
import type { SmtpReply } from "../smtp-reply.ts";

export type { DsnEvent };

/** Envelope data of the SMTP session that accompanies the message (RFC 5321 3.3). */
export interface Envelope {
  /** Envelope sender; "" is the null sender. */
  from: string;
  to: string[];
  helo: string;
  /** IP address of the peer. */
  ip: string;
  tls?: string;
  smtputf8: boolean;
  /** DSN options requested in the session (RFC 3461). */
  dsn?: DsnRequest;
}

/** A received message that can be read repeatedly: in memory if small, otherwise spooled to disk. */
export interface MailSource {
  id: string;
  size: number;
  /** Opens the message from byte `start` (default 0): its bytes if in memory, a stream if spooled. */
  open(start?: number): Readable | Uint8Array;
  /** The header section, without the empty line. */
  headerBlock: Uint8Array;
  /** The file of a spooled message. It never changes, so other files may be hard links to it. */
  file?: string;
  /** Deletes the spool file. */
  discard(): Promise<void>;
}

/**
 * The result for one recipient. `queued` means that the message is in the outbound queue and has not reached the next
 * hop yet.
 */
export type DeliveryResult = { rcpt: string } & (
  | { ok: true; queued?: true }
  | { ok: false; temporary: boolean; reply: SmtpReply }
);

/**
 * Destination of a recipient's mail. "report": the message is a DMARC or TLS report, and is counted in the statistics
 * of the recipient's zone.
 */
export type MailRoute =
  | { kind: "forward"; to: string[] }
  | { kind: "worker"; script: string }
  | { kind: "report" }
  | { kind: "drop" }
  | { kind: "none" };

/** One step in the processing of a message, for logs, console and metrics. */
export interface TraceEvent {
  message: string;
  at: Date;
  /** Account and zone of the mail, if known. */
  account?: string;
  zone?: string;
  step:
    | "received"
    | "authenticated"
    | "matched"
    | "handled"
    | "forwarded"
    | "replied"
    | "sent"
    | "rejected"
    | "dropped"
    | "queued"
    | "deferred"
    | "delivered"
    | "bounced"
    | "interrupted"
    /** The SMTP session that delivered the message; only for the log. */
    | "session"
    /** Log lines of the worker; only for the log. */
    | "logged";
  rcpt?: string;
  detail: Record<string, unknown>;
}

export type Trace = (event: TraceEvent) => void;

/** An outbound message. */
export interface Outbound {
  /** With angle brackets: the id returned to the worker. */
  messageId: string;
  cause: "forward" | "reply" | "send";
  from: string;
  /** Envelope senders keyed by recipient, as given in `to`. All other recipients use `from`. */
  fromFor?: ReadonlyMap<string, string>;
  to: string[];
  raw: () => Readable | Uint8Array;
  /** The parts of a builder message, for transports that show them separately. */
  parts?: { text?: string; html?: string; attachments: { filename: string; type: string; content: Uint8Array }[] };
  /**
   * The same bytes as `raw`, in a file that never changes, if there is one: a transport on the same disk may hard-link
   * to it.
   */
  file?: string;
  /**
   * The inbound message that this one replies to or forwards, and its recipient. `source`: the id of its `MailSource`,
   * if `id` is that of a dispatch.
   */
  inbound?: { id: string; rcpt?: string; source?: string };
  /** The worker that requested it. */
  script?: string;
  /** Account and zone of the mail; omitted for system mail. */
  account?: string;
  zone?: string;
  /**
   * True if the envelope sender is authenticated (SPF, DKIM or an API token) and may get delivery reports. For other
   * senders they would be backscatter.
   */
  senderAuthenticated?: true;
  /** DSN parameters for the next hop. */
  dsn?: DsnRequest;
}

/** DSN options (RFC 3461). `to` is keyed by recipient as in the envelope. */
export type DsnRequest = MailRequest & { to?: Record<string, RecipientRequest> };

/**
 * Delivers a message to the MX, a smart host, or (in dev) a folder of .eml files. Resolves when the message has been
 * accepted.
 */
export interface Transport {
  deliver(mail: Outbound, signal?: AbortSignal): Promise<DeliveryResult[]>;
}

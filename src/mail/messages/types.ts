import type { Readable } from "node:stream";
import type { DsnEvent, MailRequest, RecipientRequest } from "../../protocol/dsn/index.ts";

export type { DsnEvent };

/** What the SMTP session said about a message, beside the message itself (RFC 5321 3.3). */
export interface Envelope {
  /** Envelope sender; "" is the null sender. */
  from: string;
  to: string[];
  helo: string;
  /** Address of the peer. */
  ip: string;
  tls?: string;
  smtputf8: boolean;
  /** What the sender wants to be told (RFC 3461), where the session said it. */
  dsn?: DsnRequest;
}

/** A received message that can be read as often as needed: in memory when small, spooled to the disk when not. */
export interface MailSource {
  id: string;
  size: number;
  /** The message from octet `start` (default 0) on: its bytes when it is in memory, a stream when it is spooled. */
  open(start?: number): Readable | Uint8Array;
  /** The header block, up to and without the empty line. */
  headerBlock: Uint8Array;
  /** The whole message as a file, when it is spooled. Nobody changes it; others may link to it. */
  file?: string;
  /** Frees the spool file. */
  discard(): Promise<void>;
}

export interface SmtpReply {
  code: number;
  /** RFC 3463, for example "5.7.1". */
  enhanced: string;
  text: string;
}

/** The result for one recipient. `queued`: the message is in the outbound queue, not yet at the next hop. */
export type DeliveryResult = { rcpt: string } & (
  | { ok: true; queued?: true }
  | { ok: false; temporary: boolean; reply: SmtpReply }
);

/** Where a recipient's mail goes. "report": into the statistics of the zone that the recipient's mail belongs to. */
export type Route =
  | { kind: "forward"; to: string[] }
  | { kind: "worker"; script: string }
  | { kind: "report" }
  | { kind: "drop" }
  | { kind: "none" };

/** One step in the life of a message; logs, console and metrics all read these. */
export interface TraceEvent {
  message: string;
  at: Date;
  /** Whose mail it is, and of which zone, where the step knows. */
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
    | "interrupted";
  rcpt?: string;
  detail: Record<string, unknown>;
}

export type Trace = (event: TraceEvent) => void;

/** A message on its way out. */
export interface Outbound {
  /** With angle brackets: the id returned to the worker. */
  messageId: string;
  cause: "forward" | "reply" | "send";
  from: string;
  /** Envelope senders keyed by recipient, as written in `to`. All other recipients use `from`. */
  fromFor?: ReadonlyMap<string, string>;
  to: string[];
  raw: () => Readable | Uint8Array;
  /** The parts of a builder message, for transports that show them apart. */
  parts?: { text?: string; html?: string; attachments: { filename: string; type: string; content: Uint8Array }[] };
  /** The same octets as `raw`, in a file that nobody changes, if there is one: a transport on this disk may link to it. */
  file?: string;
  /** The inbound message this answers or passes on, and which of its recipients. */
  inbound?: { id: string; rcpt?: string };
  /** The worker that asked for it. */
  script?: string;
  /** Whose mail it is, and of which zone; left out for the platform's own. */
  account?: string;
  zone?: string;
  /** The envelope sender is authenticated (SPF, DKIM or an API token) and may get delivery reports. Others would get backscatter. */
  senderAuthenticated?: true;
  /** What the sender wants to be told, for the next hop to know. */
  dsn?: DsnRequest;
}

/** What the sender wants to be told (RFC 3461). `to` by recipient, as it stands in the envelope. */
export type DsnRequest = MailRequest & { to?: Record<string, RecipientRequest> };

/** Takes a message off our hands: mx, smart host, or (in dev) a folder of .eml files. Resolves when the message is safe. */
export interface Transport {
  deliver(mail: Outbound, signal?: AbortSignal): Promise<DeliveryResult[]>;
}

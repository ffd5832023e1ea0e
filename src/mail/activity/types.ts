/** An entry of the message log: one for each message and recipient. */
export interface Entry {
  /** 32 hex digits, derived from the message and the recipient, so that every process computes the same id. */
  id: string;
  kind: EntryKind;
  /** `routing`: the id of the message as it was received. `sending`: its Message-ID, with angle brackets. */
  message: string;
  /** "" if it has no owner. */
  account: string;
  /** "" if it has no zone. */
  zone: string;
  /** Time of the first step. All times here are epoch milliseconds. */
  at: number;
  changedAt: number;
  /** Envelope sender; "" is the null sender. */
  from: string;
  /** The recipient as spelled by the sender. */
  to: string;
  subject: string | null;
  /** The Message-ID field of the message. */
  headerId: string | null;
  status: EntryStatus;
  /** Action of the routing rule; only for routed mail. */
  action: "forward" | "worker" | "drop" | "reject" | null;
  origin: "incoming" | "reply" | "newEmail";
  /** Id of the rule that matched. */
  rule: string | null;
  script: string | null;
  spf: string | null;
  dkim: string | null;
  dmarc: string | null;
  arc: string | null;
  /** The enhanced status code (RFC 3463) of the error, and the error text of the failing server. */
  errorCause: string | null;
  error: string | null;
  isNdr: boolean;
  isSpam: boolean;
  spamScore: number | null;
  spamThreshold: number | null;
  /** Size of the message in bytes. */
  size: number | null;
  /** IP address of the sending peer. */
  ip: string | null;
  /** Copies sent to other destinations, keyed by Message-ID and address. */
  deliveries: EntryDelivery[];
  /** The steps, oldest first. If there are too many, those in the middle are left out. */
  events: EntryEvent[];
  answer: Answer | null;
  /** Authentication results of received mail, in the order SPF, DKIM, DMARC, ARC. */
  checks?: AuthenticationCheck[];
  /** The SMTP session that the message arrived in, without message content and secrets. */
  transcript?: TranscriptEntry[];
  /** Log lines of the worker that handled the message, in order. */
  workerLogs?: WorkerLogEntry[];
}

export interface AuthenticationCheck {
  method: "spf" | "dkim" | "dmarc" | "arc";
  /** A result name of RFC 8601 2.7. */
  result: string;
  /** The domain that was checked: that of the sender, the signature, the author, or the last seal. */
  domain?: string;
  selector?: string;
  /** DMARC: the policy of the domain owner, and the methods that are aligned. */
  policy?: string;
  aligned?: string;
  why?: string;
}

export interface TranscriptEntry {
  /** `C`: the client; `S`: this server; `*`: a connection event. */
  by: "C" | "S" | "*";
  text: string;
}

export interface WorkerLogEntry {
  at: number;
  level: "debug" | "log" | "info" | "warn" | "error";
  text: string;
}

export type EntryKind = "routing" | "sending";

/**
 * `received` and `sent`: accepted; nothing further is known yet. `handled`: processed by a worker. `queued`,
 * `deferred`: waiting for the next attempt; `deferred` also covers mail left with the sender. `error`: internal or
 * worker error; the sender retries. `unknown`: the server stopped before it logged the outcome.
 */
export type EntryStatus =
  | "received"
  | "sent"
  | "handled"
  | "dropped"
  | "queued"
  | "deferred"
  | "delivered"
  | "deliveryFailed"
  | "rejected"
  | "error"
  | "unknown";

export const ENTRY_STATUSES = [
  "received",
  "sent",
  "handled",
  "dropped",
  "queued",
  "deferred",
  "delivered",
  "deliveryFailed",
  "rejected",
  "error",
  "unknown",
] as const satisfies EntryStatus[];
export const ENTRY_ACTIONS = ["forward", "worker", "drop", "reject"] as const satisfies Entry["action"][];

export interface EntryDelivery {
  /** Message-ID of the copy; a forwarded message does not contain this id. */
  messageId: string;
  to: string;
  state: "handed over" | "queued" | "deferred" | "delivered" | "failed";
  at: number;
  /** A worker's reply does not affect the status of the message it answers. */
  reply?: true;
  /** Id of the message in the outbound queue. */
  outbound?: string;
  code?: number;
  enhanced?: string;
  text?: string;
  host?: string;
}

/** The final reply to the sender, if it was negative. */
interface Answer {
  temporary: boolean;
  /** The sender got a positive reply before the failure: the server retries, or has given up. */
  accepted?: true;
  at: number;
  code: number;
  enhanced: string;
  text: string;
}

export interface EntryEvent {
  at: number;
  step: string;
  /** Selected details of the step: texts, codes and addresses. */
  detail: Record<string, unknown>;
}

/** A page of the log, newest first. */
export interface EntryPage {
  items: Entry[];
  /**
   * Cursor of the next page; undefined at the end. A page may be short or even empty without being the last: see
   * `EntryQuery`.
   */
  next: string | undefined;
}

/**
 * A search. `from` and `to` are whole addresses; the other fields filter the entries between `since` (inclusive) and
 * `until` (exclusive). A page scans a bounded number of entries: if few match, it ends early with a cursor.
 */
export interface EntryQuery {
  /** Empty for the server's own mail. */
  account?: string;
  zone?: string;
  kind?: EntryKind;
  since?: number;
  until?: number;
  status?: EntryStatus;
  action?: NonNullable<Entry["action"]>;
  from?: string;
  to?: string;
  /** Part of an address, the subject or the Message-ID, case-insensitive. */
  search?: string;
  /** Zones whose entries of a kind are left out. */
  hidden?: Record<EntryKind, readonly string[]>;
  after?: string;
  limit?: number;
}

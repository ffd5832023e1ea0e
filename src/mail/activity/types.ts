/** What the log of messages keeps: one entry for each message and recipient. */
export interface Entry {
  /** 32 hex digits, made of what the entry is about: whoever hears of it first makes the same one. */
  id: string;
  kind: EntryKind;
  /** `routing`: the id of the message as it was received. `sending`: its Message-ID, with angle brackets. */
  message: string;
  /** "" where nobody's. */
  account: string;
  /** "" where none. */
  zone: string;
  /** Epoch milliseconds, as all times here: of the first step. */
  at: number;
  changedAt: number;
  /** Envelope sender; "" is the null sender. */
  from: string;
  /** The recipient, as the sender named it. */
  to: string;
  subject: string | null;
  /** The message's own Message-ID. */
  headerId: string | null;
  status: EntryStatus;
  /** What the rule said, of routed mail. */
  action: "forward" | "worker" | "drop" | "reject" | null;
  origin: "incoming" | "reply" | "newEmail";
  /** Id of the rule that matched. */
  rule: string | null;
  script: string | null;
  spf: string | null;
  dkim: string | null;
  dmarc: string | null;
  arc: string | null;
  /** The enhanced status code (RFC 3463) of what went wrong, and the words of whoever said it. */
  errorCause: string | null;
  error: string | null;
  isNdr: boolean;
  isSpam: boolean;
  spamScore: number | null;
  spamThreshold: number | null;
  /** Octets. */
  size: number | null;
  /** Of the peer that brought it. */
  ip: string | null;
  /** Copies on their way to somewhere, by Message-ID and address. */
  deliveries: Delivery[];
  /** The steps, oldest first; of very many those in the middle are left out. */
  events: EntryEvent[];
  answer: Answer | null;
}

export type EntryKind = "routing" | "sending";

/**
 * `received` and `sent`: taken, and no more is known yet. `handled`: a worker did with it what it wanted. `queued`, `deferred`: it waits for its next
 * try. `deferred` is also what was left with the sender. `error`: we, or a worker, failed; the sender comes again.
 * `unknown`: the server stopped before it logged the outcome.
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

export interface Delivery {
  /** Message-ID of the copy; of a forward it is not in the message. */
  messageId: string;
  to: string;
  state: "handed over" | "queued" | "deferred" | "delivered" | "failed";
  at: number;
  /** A reply of a worker says nothing about what became of the message it answers. */
  reply?: true;
  /** Id of the message in the queue. */
  outbound?: string;
  code?: number;
  enhanced?: string;
  text?: string;
  host?: string;
}

/** What the sender was told in the end, where that was no. */
export interface Answer {
  temporary: boolean;
  /** The sender was told yes, and this came of it: it is tried again by us, or has been given up. */
  accepted?: true;
  at: number;
  code: number;
  enhanced: string;
  text: string;
}

export interface EntryEvent {
  at: number;
  step: string;
  /** What is worth knowing of the step: texts, codes, addresses. */
  detail: Record<string, unknown>;
}

/** A page of the log, newest first. */
export interface EntryPage {
  items: Entry[];
  /** Where the next page begins; undefined at the end. A page may be short of items, even empty, and not be the last: see `EntryQuery`. */
  next: string | undefined;
}

/**
 * What is asked for. `from` and `to` are whole addresses; the rest narrows down what lies between `since` and `until` (the first inclusive, the
 * second not). A page looks at a bounded number of entries: when few of them fit, it ends early and tells where to go on.
 */
export interface EntryQuery {
  /** Empty for the platform itself. */
  account?: string;
  zone?: string;
  kind?: EntryKind;
  since?: number;
  until?: number;
  status?: EntryStatus;
  action?: NonNullable<Entry["action"]>;
  from?: string;
  to?: string;
  /** Part of an address, the subject or the Message-ID, in any case of letters. */
  search?: string;
  /** Zones of which entries of a kind are left out. */
  hidden?: Record<EntryKind, readonly string[]>;
  after?: string;
  limit?: number;
}

/** Why an address is not written to. `policy` entries are the operator's: accounts see them and cannot change them. */
export const SUPPRESSION_REASONS = ["manual", "complaint", "hard_bounce", "soft_bounce", "policy"] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** Mail of the whole account, or of one of its sending domains only. */
export type SuppressionScope = { type: "account" } | { type: "sending_domain"; value: string };

/** Times are epoch milliseconds. */
export interface Suppression {
  /** UUID. */
  id: string;
  account: string;
  /** As it was given first. */
  email: string;
  scope: SuppressionScope;
  reason: SuppressionReason;
  note: string | null;
  readOnly: boolean;
  createdAt: number;
  /** Null: for good. */
  expiresAt: number | null;
}

export interface SuppressionRequest {
  email: string;
  /** Default: null, for good. */
  expiresAt?: number | null | undefined;
  /** At most 1000 characters. */
  note?: string | undefined;
  /** Default: the account. */
  scope?: SuppressionScope | undefined;
}

export interface SuppressionQuery {
  email?: string | undefined;
  /** A whole address, or `user@` for that user at every domain. */
  search?: string | undefined;
  reason?: SuppressionReason | undefined;
  scopeType?: SuppressionScope["type"] | undefined;
  scopeValue?: string | undefined;
}

export interface SuppressionPage {
  items: Suppression[];
  perPage: number;
  /** Of the next page; carries the filters. Null at the end. */
  next: string | null;
}

/** What became of one item of a bulk import. */
export type BulkItem = { index: number; email?: string } & (
  | { status: "processed"; id: string; scope: SuppressionScope }
  /** There already: the same address twice in one import, or an entry that is kept as it is. */
  | { status: "skipped"; id: string; scope: SuppressionScope }
  | { status: "invalid"; error: string }
);

export interface BulkResult {
  total: number;
  processed: number;
  invalid: number;
  skipped: number;
  /** Of the skipped those that stood twice in the import. */
  deduplicated: number;
  items: BulkItem[];
}

/** Addresses that an account does not write to. */
export interface Suppressions {
  /** Newest first; with `search` of a user, by address. Those that have expired are not there any more. Throws badCursor, badSearch. */
  list(account: string, query: SuppressionQuery, page: { cursor?: string | undefined; perPage: number }): Promise<SuppressionPage>;
  /** Throws noSuppression. */
  get(account: string, id: string): Promise<Suppression>;
  /** One that is there already and may be changed is answered as it is. Throws badSuppressionAddress, badExpiry, badScope, readOnlySuppression, tooManySuppressions. */
  create(account: string, request: SuppressionRequest): Promise<Suppression>;
  /** Absent things stay; an empty note is none. Throws noSuppression, readOnlySuppression, nothingToChange, badExpiry. */
  update(account: string, id: string, change: { expiresAt?: number | null | undefined; note?: string | undefined }): Promise<Suppression>;
  /** Throws noSuppression, readOnlySuppression. */
  delete(account: string, id: string): Promise<Suppression>;
  /** At most 1000; each by itself. Throws tooManyImports (10 in a minute). */
  bulk(account: string, requests: readonly unknown[]): Promise<BulkResult>;
  /**
   * What a bounce or a complaint teaches. An entry that is there is only made to last longer, and gets the graver reason. Expiry by default:
   * a hard bounce 7 days, a soft bounce 24 hours, everything else never; `permanent` for a hard bounce that says there is no such mailbox.
   * An address that is none is ignored.
   */
  add(account: string, email: string, reason: SuppressionReason, options?: { scope?: SuppressionScope; note?: string; expiresAt?: number | null; permanent?: boolean }): Promise<void>;
  /** Those of the addresses that mail from this domain must not go to, as they are spelled here. */
  among(account: string, domain: string, addresses: readonly string[]): Promise<string[]>;
  /** How many addresses complained of mail from this domain, or were told to the whole account, in [from, to). */
  complaints(account: string, domain: string, from: number, to: number): Promise<number>;
  /** Deletes what has expired; how many. At most a batch at a time. */
  sweep(): Promise<number>;
}

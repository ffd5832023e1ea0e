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
export type BulkItem = { index: number } & (
  | { status: "processed"; email: string; id: string; scope: SuppressionScope }
  /** There already: the same address twice in one import, or an entry that is kept as it is. */
  | { status: "skipped"; email: string; id: string; scope: SuppressionScope }
  | { status: "invalid"; error: string }
  /** Such as an entry that only the operator may change. */
  | { status: "error"; email: string; error: string }
);

export interface BulkResult {
  total: number;
  processed: number;
  invalid: number;
  errors: number;
  skipped: number;
  /** Of the skipped those that stood twice in the import. */
  deduplicated: number;
  items: BulkItem[];
}

/** Addresses to which an account does not send. */
export interface Suppressions {
  /** Newest first; with `search` of a user, by address. Those that have expired are not there any more. Throws badCursor, badSearch. */
  list(
    account: string,
    query: SuppressionQuery,
    page: { cursor?: string | undefined; perPage: number },
  ): Promise<SuppressionPage>;
  /** Throws noSuppression. */
  get(account: string, id: string): Promise<Suppression>;
  /** One that is there already and may be changed is answered as it is. Throws badSuppressionAddress, badExpiry, noteTooLong, badScope, readOnlySuppression. */
  create(account: string, request: SuppressionRequest): Promise<Suppression>;
  /** Absent things stay; an empty note is none. Throws noSuppression, readOnlySuppression, badExpiry, noteTooLong. */
  update(
    account: string,
    id: string,
    change: { expiresAt?: number | null | undefined; note?: string | undefined },
  ): Promise<Suppression>;
  /** Throws noSuppression, readOnlySuppression. */
  delete(account: string, id: string): Promise<Suppression>;
  /** Each by itself, some known to be `invalid` already; at most 1000. Throws tooManyItems, tooManyImports (10 in a minute). */
  bulk(account: string, requests: readonly (SuppressionRequest | { invalid: string })[]): Promise<BulkResult>;
  /**
   * What a bounce or a complaint teaches: an entry for the account. One that is there stays if it lasts longer, and has the graver reason of both.
   * Safe to repeat. What is no address is ignored.
   */
  add(entry: SuppressionNote): Promise<void>;
  /** Those of the addresses that mail of an account, sent from this domain, must not go to; as they are spelled here. */
  among(account: string, domain: string, addresses: readonly string[]): Promise<string[]>;
  /** How many addresses complained of mail from this domain in [from, to). */
  complaints(account: string, domain: string, from: number, to: number): Promise<number>;
  /** Deletes what has expired, a batch at most; how many. */
  sweep(): Promise<number>;
}

export interface SuppressionNote {
  account: string;
  email: string;
  reason: SuppressionReason;
  /** Null: for good. */
  expiresAt: Date | null;
  /** Where the mail was sent from that bounced. */
  domain?: string;
  note?: string;
}

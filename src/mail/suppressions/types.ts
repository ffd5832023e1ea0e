/** Why an address is suppressed. `policy` entries belong to the operator: accounts see them and cannot change them. */
export const SUPPRESSION_REASONS = ["manual", "complaint", "hard_bounce", "soft_bounce", "policy"] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** Applies to mail of the whole account, or of one of its sending domains only. */
export type SuppressionScope = { type: "account" } | { type: "sending_domain"; value: string };

/** Times are epoch milliseconds. */
export interface Suppression {
  /** UUID. */
  id: string;
  account: string;
  /** In its original spelling. */
  email: string;
  scope: SuppressionScope;
  reason: SuppressionReason;
  note: string | null;
  readOnly: boolean;
  createdAt: number;
  /** Null: never expires. */
  expiresAt: number | null;
}

export interface SuppressionRequest {
  email: string;
  /** Default: null, never expires. */
  expiresAt?: number | null | undefined;
  /** At most 1000 characters. */
  note?: string | undefined;
  /** Default: the account. */
  scope?: SuppressionScope | undefined;
}

export interface SuppressionQuery {
  email?: string | undefined;
  /** A full address, or `user@` for that user at every domain. */
  search?: string | undefined;
  reason?: SuppressionReason | undefined;
  scopeType?: SuppressionScope["type"] | undefined;
  scopeValue?: string | undefined;
}

export interface SuppressionPage {
  items: Suppression[];
  perPage: number;
  /** Cursor of the next page, including the filters. Null at the end. */
  next: string | null;
}

/** The result of one item of a bulk import. */
export type BulkItem = { index: number } & (
  | { status: "processed"; email: string; id: string; scope: SuppressionScope }
  /** Already exists: a duplicate within the import, or an entry that is left unchanged. */
  | { status: "skipped"; email: string; id: string; scope: SuppressionScope }
  | { status: "invalid"; error: string }
  /** For example an entry that only the operator may change. */
  | { status: "error"; email: string; error: string }
);

export interface BulkResult {
  total: number;
  processed: number;
  invalid: number;
  errors: number;
  skipped: number;
  /** Number of skipped items that were duplicates within the import. */
  deduplicated: number;
  items: BulkItem[];
}

/** Addresses to which an account does not send. */
export interface Suppressions {
  /** Newest first; by address with a `search` for a user. Expired entries are omitted. Throws badCursor, badSearch. */
  list(
    account: string,
    query: SuppressionQuery,
    page: { cursor?: string | undefined; perPage: number },
  ): Promise<SuppressionPage>;
  /** Throws noSuppression. */
  get(account: string, id: string): Promise<Suppression>;
  /**
   * Returns an existing changeable entry unchanged. Throws badSuppressionAddress, badExpiry, noteTooLong, badScope,
   * readOnlySuppression.
   */
  create(account: string, request: SuppressionRequest): Promise<Suppression>;
  /**
   * Omitted fields keep their values; an empty note removes it. Throws noSuppression, readOnlySuppression, badExpiry,
   * noteTooLong.
   */
  update(
    account: string,
    id: string,
    change: { expiresAt?: number | null | undefined; note?: string | undefined },
  ): Promise<Suppression>;
  /** Throws noSuppression, readOnlySuppression. */
  delete(account: string, id: string): Promise<Suppression>;
  /**
   * Processes each item separately; some may already be marked `invalid`; at most 1000. Throws tooManyItems,
   * tooManyImports (10 per minute).
   */
  bulk(account: string, requests: readonly (SuppressionRequest | { invalid: string })[]): Promise<BulkResult>;
  /**
   * Adds an entry for the account after a bounce or a complaint. An existing one is kept if it lasts longer, and gets
   * the more severe reason of both. Safe to repeat. Invalid addresses are ignored.
   */
  add(entry: SuppressionNote): Promise<void>;
  /** The addresses that are suppressed for mail of an account from this domain, in the given spelling. */
  among(account: string, domain: string, addresses: readonly string[]): Promise<string[]>;
  /** Number of addresses that complained about mail from this domain in [from, to). */
  complaints(account: string, domain: string, from: number, to: number): Promise<number>;
  /** Deletes expired entries, at most one batch; returns their number. */
  sweep(): Promise<number>;
}

export interface SuppressionNote {
  account: string;
  email: string;
  reason: SuppressionReason;
  /** Null: never expires. */
  expiresAt: Date | null;
  /** The sending domain of the mail that bounced. */
  domain?: string;
  note?: string;
}

/** Why an address is suppressed. `policy` entries belong to the operator: accounts see them but cannot change them. */
export const SUPPRESSION_REASONS = ["manual", "complaint", "hard_bounce", "soft_bounce", "policy"] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** Applies to mail of the whole account, or only to mail of one of its sending domains. */
type SuppressionScope = { type: "account" } | { type: "sending_domain"; value: string };

/** Times are epoch milliseconds. */
export interface Suppression {
  /** UUID. */
  id: string;
  account: string;
  /** The address in its original spelling. */
  email: string;
  scope: SuppressionScope;
  reason: SuppressionReason;
  note: string | null;
  readOnly: boolean;
  createdAt: number;
  /** Null means that it never expires. */
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

interface SuppressionPage {
  items: Suppression[];
  perPage: number;
  /** Cursor of the next page, including the filters. Null at the end. */
  next: string | null;
}

/** The result of one item of a bulk import. */
export type BulkItemResult = { index: number } & (
  | { status: "processed"; email: string; id: string; scope: SuppressionScope }
  /** The address is already suppressed: a duplicate within the import, or an existing entry that is left unchanged. */
  | { status: "skipped"; email: string; id: string; scope: SuppressionScope }
  | { status: "invalid"; error: string }
  /** For example, an entry that only the operator may change. */
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
  items: BulkItemResult[];
}

/** Addresses to which an account does not send mail. */
export interface Suppressions {
  /**
   * Lists newest entries first; sorted by address if `search` is a user. Expired entries are omitted. Throws badCursor,
   * badSearch.
   */
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
   * Omitted fields keep their values; an empty note deletes the note. Throws noSuppression, readOnlySuppression,
   * badExpiry, noteTooLong.
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
   * Adds an entry for the account after a bounce or a complaint. An existing entry is kept if it lasts longer, and gets
   * the more severe of the two reasons. Idempotent. Invalid addresses are ignored.
   */
  add(entry: SuppressionNote): Promise<void>;
  /** Returns the addresses that are suppressed for mail of an account from this domain, in the given spelling. */
  findSuppressed(account: string, domain: string, addresses: readonly string[]): Promise<string[]>;
  /** Returns the number of addresses that complained about mail from this domain in [from, to). */
  complaints(account: string, domain: string, from: number, to: number): Promise<number>;
  /** Deletes expired entries, at most one batch; returns how many. */
  sweep(): Promise<number>;
}

interface SuppressionNote {
  account: string;
  email: string;
  reason: SuppressionReason;
  /** Null means that it never expires. */
  expiresAt: Date | null;
  /** The sending domain of the mail that bounced. */
  domain?: string;
  note?: string;
}

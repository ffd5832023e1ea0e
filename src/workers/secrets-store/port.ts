import type { Page, PageRequest } from "../../kernel/index.ts";
import type { SECRET_SCOPES } from "./limits.ts";

export type SecretScope = (typeof SECRET_SCOPES)[number];

/**
 * The stores whose secrets the workers of an account share. Values are encrypted at rest; only valueOf() returns them.
 * Every change resolves once it is on disk. Throws UserErrors of `secretsStoreErrors`.
 */
export interface SecretsStore {
  /** Throws badName, storeNameTaken, tooManyStores. */
  createStore(account: string, name: string): Promise<SecretStore>;
  stores(
    account: string,
    page: PageRequest,
    order?: ListOrder<"name" | "created" | "modified">,
  ): Promise<Page<SecretStore>>;
  /** Throws storeMissing. */
  store(account: string, id: string): Promise<SecretStore>;
  /** With `force`, also deletes its secrets. Throws storeMissing, storeNotEmpty. */
  deleteStore(account: string, id: string, options?: { force?: boolean }): Promise<void>;

  /**
   * Creates all of the secrets, or none. Throws storeMissing, badName, badValue, badScopes, commentTooLong,
   * secretNameTaken, tooManySecrets.
   */
  createSecrets(account: string, store: string, secrets: readonly NewSecret[]): Promise<StoredSecret[]>;
  /**
   * Lists the secrets whose name or comment contains `search` and that have all of the `scopes`. Throws storeMissing.
   */
  secrets(
    account: string,
    store: string,
    page: PageRequest,
    filter?: ListOrder<"name" | "comment" | "created" | "modified" | "status"> & {
      search?: string | undefined;
      scopes?: readonly SecretScope[] | undefined;
    },
  ): Promise<Page<StoredSecret>>;
  /** Throws storeMissing, secretMissing. */
  secret(account: string, store: string, id: string): Promise<StoredSecret>;
  /** Omitted fields keep their values. Throws the errors of secret() and createSecrets(). */
  changeSecret(account: string, store: string, id: string, change: SecretChange): Promise<StoredSecret>;
  /** Creates a secret with the same value. Throws the errors of secret() and createSecrets(). */
  duplicateSecret(account: string, store: string, id: string, copy: Omit<NewSecret, "value">): Promise<StoredSecret>;
  /** Deletes all of the secrets, or none. Throws storeMissing, secretMissing. */
  deleteSecrets(account: string, store: string, ids: readonly string[]): Promise<void>;
  /** Resolves with the number of stores of the account, and of secrets in all of them. */
  count(account: string): Promise<{ stores: number; secrets: number }>;

  /** True if workers may use the secret. */
  isForWorkers(account: string, store: string, name: string): Promise<boolean>;
  /** Resolves with the value for a worker. Undefined if the secret does not exist or workers may not use it. */
  valueOf(account: string, store: string, name: string): Promise<string | undefined>;
}

export interface ListOrder<Field extends string> {
  field?: Field | undefined;
  direction?: "asc" | "desc" | undefined;
}

export interface SecretStore {
  /** 32 hex digits. */
  id: string;
  account: string;
  name: string;
  createdAt: Date;
  modifiedAt: Date;
}

/** A secret without its value. */
export interface StoredSecret {
  /** 32 hex digits. */
  id: string;
  store: string;
  name: string;
  scopes: SecretScope[];
  comment: string;
  createdAt: Date;
  modifiedAt: Date;
}

export interface NewSecret {
  name: string;
  value: string;
  scopes: readonly string[];
  comment?: string | undefined;
}

export interface SecretChange {
  value?: string | undefined;
  scopes?: readonly string[] | undefined;
  comment?: string | undefined;
}

import type { Page, PageRequest } from "../../kernel/index.ts";
import type { SECRET_SCOPES } from "./limits.ts";

export type SecretScope = (typeof SECRET_SCOPES)[number];

/**
 * Stores of secrets that the workers of an account share. Values are encrypted at rest; only valueOf() returns them.
 * Every change resolves once it is on disk. Throws UserErrors of `secretsStoreErrors`.
 */
export interface SecretsStore {
  /** Throws badName, storeNameTaken, tooManyStores. */
  createStore(account: string, name: string): Promise<Store>;
  stores(account: string, page: PageRequest, order?: Order<"name" | "created" | "modified">): Promise<Page<Store>>;
  /** Throws storeMissing. */
  store(account: string, id: string): Promise<Store>;
  /** With `force`, including its secrets. Throws storeMissing, storeNotEmpty. */
  deleteStore(account: string, id: string, options?: { force?: boolean }): Promise<void>;

  /** All or none. Throws storeMissing, badName, badValue, badScopes, commentTooLong, secretNameTaken, tooManySecrets. */
  createSecrets(account: string, store: string, secrets: readonly NewSecret[]): Promise<StoredSecret[]>;
  /** `search`: contained in the name or the comment. `scopes`: has all of them. Throws storeMissing. */
  secrets(
    account: string,
    store: string,
    page: PageRequest,
    filter?: Order<"name" | "comment" | "created" | "modified" | "status"> & {
      search?: string | undefined;
      scopes?: readonly SecretScope[] | undefined;
    },
  ): Promise<Page<StoredSecret>>;
  /** Throws storeMissing, secretMissing. */
  secret(account: string, store: string, id: string): Promise<StoredSecret>;
  /** Omitted fields keep their values. Throws what secret() and createSecrets() throw. */
  changeSecret(account: string, store: string, id: string, change: SecretChange): Promise<StoredSecret>;
  /** A new secret with the same value. Throws what secret() and createSecrets() throw. */
  duplicateSecret(account: string, store: string, id: string, copy: Omit<NewSecret, "value">): Promise<StoredSecret>;
  /** All or none. Throws storeMissing, secretMissing. */
  deleteSecrets(account: string, store: string, ids: readonly string[]): Promise<void>;
  /** Secrets of the account in all stores. */
  count(account: string): Promise<{ stores: number; secrets: number }>;

  /** True if workers may use the secret. */
  isForWorkers(account: string, store: string, name: string): Promise<boolean>;
  /** The value for a worker; undefined if there is none, or if workers may not use it. */
  valueOf(account: string, store: string, name: string): Promise<string | undefined>;
}

export interface Order<Field extends string> {
  by?: Field | undefined;
  direction?: "asc" | "desc" | undefined;
}

export interface Store {
  /** 32 hex digits. */
  id: string;
  account: string;
  name: string;
  createdAt: Date;
  modifiedAt: Date;
}

/** Without its value. */
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

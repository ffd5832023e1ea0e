import type { Page, PageRequest } from "../../kernel/index.ts";

/** A Durable Object class and its stored objects. Its id names their directory and survives a rename of the class. */
export interface ObjectNamespace {
  /** 32 hex digits. */
  id: string;
  className: string;
  /** If false, the objects have only the asynchronous key-value API, without `storage.sql` and `storage.kv`. */
  sqlite: boolean;
}

/** The Durable Objects of a worker. At most one process at a time runs them. */
export interface ScriptObjects {
  /** Name of the directory that contains one directory per namespace. */
  owner: string;
  namespaces: ObjectNamespace[];
  /** The process only tests whether the code starts; it stores nothing. */
  isTrial?: true;
}

/** A migration step, as in the configuration and in the upload metadata. */
export interface ObjectMigration {
  new_classes?: string[] | undefined;
  new_sqlite_classes?: string[] | undefined;
  renamed_classes?: { from: string; to: string }[] | undefined;
  deleted_classes?: string[] | undefined;
}

/** The migrations that an upload applies. */
export interface DurableObjectMigrations {
  /** The upload is rejected if this is not the worker's current tag. */
  oldTag?: string;
  newTag?: string;
  steps: ObjectMigration[];
}

/** A namespace of an account. */
export interface AccountNamespace extends ObjectNamespace {
  script: string;
}

/** Selects at most `limit` objects whose ids follow the id `after`. */
export interface ObjectsPageRequest {
  after?: string | undefined;
  limit: number;
}

/** A page of stored objects, ordered by id. `next` is the last id of the page if more objects follow. */
export interface ObjectsPage {
  items: { id: string; hasStoredData: boolean }[];
  total: number;
  next?: string;
}

/** The Durable Object namespaces of accounts, for the API. */
export interface ObjectNamespaces {
  /** Lists namespaces, ordered by worker and class. */
  list(account: string, page: PageRequest): Promise<Page<AccountNamespace>>;
  /** Lists the stored objects of a namespace. Throws namespaceMissing. */
  objects(account: string, namespace: string, page: ObjectsPageRequest): Promise<ObjectsPage>;
}

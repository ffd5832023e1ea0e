import type { Page, PageRequest } from "../../kernel/index.ts";

/** One class whose objects are stored. Its id is the name of their folder and does not change when it is renamed. */
export interface ObjectNamespace {
  /** 32 hex digits. */
  id: string;
  className: string;
  /** False: the objects have only the asynchronous key-value API, not `storage.sql` and `storage.kv`. */
  sqlite: boolean;
}

/** The Durable Objects of a worker. Exactly one process at a time runs them. */
export interface ScriptObjects {
  /** Name of the folder with the folders of the namespaces. */
  owner: string;
  namespaces: ObjectNamespace[];
  /** Nothing is stored: the process only shows whether the code starts. */
  isTrial?: true;
}

/** One step of `migrations`, as in the configuration and in the upload metadata. */
export interface ObjectMigration {
  new_classes?: string[] | undefined;
  new_sqlite_classes?: string[] | undefined;
  renamed_classes?: { from: string; to: string }[] | undefined;
  deleted_classes?: string[] | undefined;
}

/** The steps that an upload applies. */
export interface ObjectMigrations {
  /** The upload is refused if the worker's latest tag is another one. */
  oldTag?: string;
  newTag?: string;
  steps: ObjectMigration[];
}

/** A namespace of an account. */
export interface AccountNamespace extends ObjectNamespace {
  script: string;
}

/** A page of a list of objects: at most `limit` ids, beginning after the id `after`. */
export interface ObjectsPage {
  after?: string | undefined;
  limit: number;
}

/** Stored objects in the order of their ids. `next`: the last id, if there are more. */
export interface ListedObjects {
  items: { id: string; hasStoredData: boolean }[];
  total: number;
  next?: string;
}

/** The namespaces of accounts, for the API. */
export interface ObjectNamespaces {
  /** Ordered by worker and class. */
  list(account: string, page: PageRequest): Promise<Page<AccountNamespace>>;
  /** Throws namespaceMissing. */
  objects(account: string, namespace: string, page: ObjectsPage): Promise<ListedObjects>;
}

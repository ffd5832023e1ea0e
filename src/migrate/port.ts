import type { Clock } from "../kernel/index.ts";

/** A request to a v4 API; `json` is sent as JSON, `body` is called once per attempt. */
export interface V4Request {
  query?: Record<string, string | number | boolean | undefined>;
  json?: unknown;
  body?: () => V4Body | Promise<V4Body>;
  headers?: Record<string, string>;
  /** Time limit for the complete response; null: none. */
  timeoutMs?: number | null;
}

type V4Body = NonNullable<RequestInit["body"]> | { stream: AsyncIterable<Uint8Array>; size?: number };

interface V4Envelope<Result> {
  result: Result;
  result_info?: Record<string, unknown> | null;
}

/**
 * A v4 API, of the hosted service or of a Reelpost server. Error responses are thrown as UserErrors with the code of
 * the API and the HTTP status in `entry`. Waits for 429 and 503.
 */
export interface V4Client {
  /** Ends in /client/v4. */
  readonly url: string;
  envelope<Result>(method: string, path: string, request?: V4Request): Promise<V4Envelope<Result>>;
  result<Result>(method: string, path: string, request?: V4Request): Promise<Result>;
  /** Resolves with a successful response whose body is unread. */
  raw(method: string, path: string, request?: V4Request): Promise<Response>;
}

/** One of the two servers, with the account to copy from or to. */
export interface MigrationEndpoint {
  api: V4Client;
  account: string;
  /** Requests URLs that the API returned. Default: over HTTP. */
  fetch?: typeof fetch;
}

/** The parts of an account that a run can import. */
export const AREAS = ["zones", "email", "workers", "kv", "r2", "d1", "stream", "live"] as const;
export type Area = (typeof AREAS)[number];

export interface MigrationOptions {
  areas: ReadonlySet<Area>;
  /** Replace items that exist on the target, differ, and were not imported by an earlier run. */
  overwrite: boolean;
  /** The operator confirms that the owners of verified destination addresses have agreed. */
  keepVerified: boolean;
  /** Maximum number of concurrent requests to each API. */
  concurrency: number;
}

export interface MigrationDeps {
  source: MigrationEndpoint;
  target: MigrationEndpoint;
  state: MigrationState;
  options: MigrationOptions;
  clock: Pick<Clock, "now" | "sleep">;
  /** Called with the current step while the plan is being made. */
  onStep?: (text: string) => void;
  signal?: AbortSignal;
}

/** Progress of earlier runs, on disk. */
export interface MigrationState {
  /** Undefined if no run has begun to import the item. */
  get(key: string): StoredItem | undefined;
  /** The change is on disk when this returns. */
  put(items: readonly (readonly [key: string, item: StoredItem])[]): void;
  /** Returns the id of an imported resource on the target. */
  idOf(key: string): string | undefined;
  /** Path of the file. */
  readonly path: string;
}

export interface StoredItem {
  /** Digest of the source's item at the time of its import; absent while the import of the item is unfinished. */
  digest?: string;
  /** The id on the target, if it may differ. */
  id?: string;
  /** URL of an unfinished upload, and the size of its file. */
  upload?: { url: string; size: number };
}

/**
 * `new`: absent on the target. `changed`: the source has changed since its import, or `overwrite` is set. `unchanged`:
 * equal, or not changed on the source since its import. `kept`: differs, but was not imported. `impossible`: cannot be
 * imported.
 */
export type Action = "new" | "changed" | "unchanged" | "kept" | "impossible";

/** One resource in the plan. */
export interface PlanItem {
  /** A noun in the singular: "zone", "routing rule". */
  kind: string;
  /** Unique in the plan; also its key in the state. */
  key: string;
  name: string;
  action: Action;
  /** For kept and impossible items. */
  reason?: string;
  /** Properties of the item that are lost. */
  losses?: string[];
  /** Number of entries to import, if the item is a container: keys, objects. */
  entries?: number;
  /** Size of the data to import, if known. */
  bytes?: number;
}

export interface PlannedItem extends PlanItem {
  /** Present if the action is new or changed. Throws the reason if the import fails. */
  apply?: (progress: ItemProgress) => Promise<void>;
}

export interface ItemProgress {
  /** Counts bytes that have been copied. */
  bytes(count: number): void;
  /** Counts entries that have been copied. */
  entries(count: number): void;
  /** Reports a property that could not be imported. */
  warn(text: string): void;
}

/** Steps that must be done manually after the import. */
export interface FollowUp {
  secrets: { worker: string; names: string[] }[];
  /** Credentials of the target that replace those of the source. */
  credentials: { what: string; value: string }[];
  dns: { zone: string; steps: string[] }[];
}

export interface MigrationPlan {
  items: PlannedItem[];
  /** False if the target's API token is not the operator's, so resources get new ids. */
  keepsIds: boolean;
}

export interface Report {
  /** Number of imported items and entries by kind. */
  imported: Record<string, number>;
  failed: { kind: string; name: string; reason: string }[];
  warnings: { kind: string; name: string; text: string }[];
  followUp: FollowUp;
}

/** Progress of an import. */
export interface RunProgress {
  done: number;
  total: number;
  item: PlanItem;
  /** Undefined until it can be estimated. */
  secondsLeft: number | undefined;
}

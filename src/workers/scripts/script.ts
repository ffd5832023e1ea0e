import type { AssetSite } from "../assets/site/site.ts";
import type { ScriptObjects } from "../objects/port.ts";
import type { Entrypoint } from "../runtime/service-calls/entrypoints.ts";

/** A worker ready to run: uploaded by a deploy or built by `reelpost dev`. */
export interface WorkerScript {
  /** The worker's name. */
  name: string;
  /** Changes with every deploy of the same name. */
  version: string;
  /**
   * The runtime runs one process per key. Default: the name. A server with many accounts gives each version its own
   * key.
   */
  key?: string;
  /** 32 hex digits; bucket names are unique within an account. Absent in `reelpost dev`, which has no accounts. */
  account?: string;
  format: "modules" | "service-worker";
  /** The name of the module whose default export is the worker; "" for a worker that has only assets. */
  main: string;
  modules: WorkerModule[];
  /** Source map (version 3, JSON) of the main module. Never passed to the runtime; used to map stacks. */
  sourceMap?: string;
  /** YYYY-MM-DD */
  compatibilityDate: string;
  compatibilityFlags: string[];
  bindings: Binding[];
  limits?: ScriptLimits;
  /** Entrypoints that other workers call, in addition to the default export without props. Set by the runtime. */
  entrypoints?: Entrypoint[];
  /** When the version was uploaded, and its tag ("" for none). Absent in `reelpost dev`. */
  uploaded?: { at: Date; tag: string };
  /** Static assets, which are served without a process. */
  assets?: AssetSite;
  /** Its Durable Object classes. */
  objects?: ScriptObjects;
}

/** True if the worker consists of static assets only. */
export const hasNoCode = ({ main }: Pick<WorkerScript, "main">): boolean => main === "";

export interface WorkerModule {
  /** The specifier used by other modules to import it. */
  name: string;
  kind: "esm" | "cjs" | "text" | "data" | "wasm" | "json";
  content: string | Uint8Array;
}

/** `limits` of the configuration file. */
export interface ScriptLimits {
  /** Maximum CPU milliseconds of one invocation. */
  cpuMs?: number;
}

/** The binding types and field names of the v4 API's upload metadata. */
export type Binding =
  | { type: "plain_text"; name: string; text: string }
  | { type: "json"; name: string; json: unknown }
  | { type: "secret_text"; name: string; text: string }
  | { type: "kv_namespace"; name: string; namespace_id: string }
  | { type: "r2_bucket"; name: string; bucket_name: string }
  | { type: "d1"; name: string; id: string }
  | { type: "queue"; name: string; queue_name: string; delivery_delay?: number }
  | { type: "stream"; name: string }
  | { type: "version_metadata"; name: string }
  | RateLimitBinding
  | ServiceBinding
  | SecretsStoreBinding
  | DurableObjectBinding
  | { type: "analytics_engine"; name: string; dataset: string }
  | { type: "assets"; name: string }
  | { type: "ai"; name: string }
  | SendEmailBinding;

/** Another worker of the account, or one of its named entrypoints. */
export interface ServiceBinding {
  type: "service";
  name: string;
  service: string;
  /** 32 hex digits, set by the server when it starts the worker; finds a worker that was renamed since. */
  service_id?: string;
  entrypoint?: string;
  /** `ctx.props` of the entrypoint. */
  props?: Record<string, unknown>;
}

/** The namespace of a Durable Object class. */
export interface DurableObjectBinding {
  type: "durable_object_namespace";
  name: string;
  class_name: string;
  /** The worker that exports the class, if it is a different one. */
  script_name?: string;
  /** The id of that worker; see `service_id`. */
  script_id?: string;
  /** 32 hex digits, set by the server; does not change when the class is renamed. */
  namespace_id?: string;
}

export interface RateLimitBinding {
  type: "ratelimit";
  name: string;
  /**
   * A positive integer as a string. Bindings of an account with the same id share their counts, even across workers.
   */
  namespace_id: string;
  /** Allows up to `limit` calls per key in `period` seconds. */
  simple: { limit: number; period: 10 | 60 };
}

export interface SecretsStoreBinding {
  type: "secrets_store_secret";
  name: string;
  store_id: string;
  secret_name: string;
  /** The value in development, where there is no store. */
  local?: string;
}

export interface SendEmailBinding {
  type: "send_email";
  name: string;
  destination_address?: string;
  allowed_destination_addresses?: string[];
  allowed_sender_addresses?: string[];
}

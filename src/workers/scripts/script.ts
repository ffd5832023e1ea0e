/** A worker as it is run: what a deploy uploads and what `reelpost dev` builds. */
export interface WorkerScript {
  /** The worker's name. */
  name: string;
  /** Changes with every deploy of the same name. */
  version: string;
  /** What the runtime runs one process of. Default: the name. A server of many accounts gives each version its own. */
  key?: string;
  /** 32 hex digits; bucket names are an account's own. Absent in `reelpost dev`, which has no accounts. */
  account?: string;
  format: "modules" | "service-worker";
  /** The name of the module whose default export is the worker. */
  main: string;
  modules: WorkerModule[];
  /** Source map (version 3, JSON) of the main module. Never given to the runtime; used to map stacks. */
  sourceMap?: string;
  /** YYYY-MM-DD */
  compatibilityDate: string;
  compatibilityFlags: string[];
  bindings: Binding[];
  limits?: ScriptLimits;
}

export interface WorkerModule {
  /** The specifier under which other modules import it. */
  name: string;
  kind: "esm" | "cjs" | "text" | "data" | "wasm" | "json";
  content: string | Uint8Array;
}

/** `limits` of the configuration file. */
export interface ScriptLimits {
  /** CPU milliseconds one invocation may burn. */
  cpuMs?: number;
}

/** The binding types and field names of the upload metadata of the v4 API. */
export type Binding =
  | { type: "plain_text"; name: string; text: string }
  | { type: "json"; name: string; json: unknown }
  | { type: "secret_text"; name: string; text: string }
  | { type: "kv_namespace"; name: string; namespace_id: string }
  | { type: "r2_bucket"; name: string; bucket_name: string }
  | { type: "d1"; name: string; id: string }
  | { type: "stream"; name: string }
  | SendEmailBinding;

export interface SendEmailBinding {
  type: "send_email";
  name: string;
  destination_address?: string;
  allowed_destination_addresses?: string[];
  allowed_sender_addresses?: string[];
}

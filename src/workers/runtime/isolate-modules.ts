import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/** Sources of the Durable Object services; both import the shared module. */
export interface ObjectSources {
  objectCalls: string;
  remoteObjects: string;
  shared: string;
}

/** The code of `inside/`, ready for workerd. */
export interface IsolateModules {
  /** Modules that are added to the user's own, under names that a user is unlikely to choose. */
  beside: { name: string; source: string }[];
  /** Additional modules for a script in service-worker format. */
  forScripts: { name: string; source: string }[];
  /** Internal extension modules. */
  internal: { name: string; source: string }[];
  /** The modules of the tail worker; the first is its main module. */
  tail: { name: string; source: string }[];
  /** Modules of the Durable Object services. */
  objects: ObjectSources;
}

/** Module names of the Durable Object services. */
export const OBJECT_CALLS_MODULE = "object-calls.js";
export const REMOTE_OBJECTS_MODULE = "remote-objects.js";
export const SHARED_MODULE = "./__reelpost_shared.js";
const MESSAGE_MODULE = "./__reelpost_message.js";
const V8_VALUE_MODULE = "./__reelpost_v8_value.js";
const QUEUE_BATCH_MODULE = "./__reelpost_queue_batch.js";
const TAIL_EVENTS_MODULE = "./__reelpost_tail_events.js";
export const OBJECT_NAMESPACES_MODULE = "./__reelpost_object_namespaces.js";
export const MAIL_MODULE = "./__reelpost_mail.js";
const LISTENERS_MODULE = "./__reelpost_listeners.js";
export const SERVICE_WORKER_MODULE = "./__reelpost_service_worker.js";
export const SEND_EMAIL_MODULE = "reelpost-internal:send-email";
export const STREAM_MODULE = "reelpost-internal:stream";
export const RATE_LIMIT_MODULE = "reelpost-internal:rate-limit";
export const ANALYTICS_MODULE = "reelpost-internal:analytics";
export const SECRETS_STORE_MODULE = "reelpost-internal:secrets-store";
export const AI_MODULE = "reelpost-internal:ai";
export const SCRIPT_RUNNER_MODULE = "reelpost-internal:run-script";
const INTERNAL_SHARED_MODULE = "reelpost-internal:shared";

export function loadIsolateModules(): IsolateModules {
  const folder = readFolder();
  const sourceOf = (name: string) => folder.get(name) ?? "";
  return {
    beside: [
      { name: SHARED_MODULE, source: sourceOf("shared") },
      { name: MESSAGE_MODULE, source: rewriteImports(sourceOf("message")) },
      { name: V8_VALUE_MODULE, source: sourceOf("v8-value") },
      { name: QUEUE_BATCH_MODULE, source: rewriteImports(sourceOf("queue-batch")) },
      { name: TAIL_EVENTS_MODULE, source: rewriteImports(sourceOf("tail-events")) },
      { name: MAIL_MODULE, source: rewriteImports(sourceOf("mail-entry")) },
      { name: OBJECT_NAMESPACES_MODULE, source: sourceOf("object-namespaces") },
    ],
    forScripts: [
      { name: LISTENERS_MODULE, source: rewriteImports(sourceOf("listeners")) },
      { name: SERVICE_WORKER_MODULE, source: rewriteImports(sourceOf("service-worker")) },
    ],
    internal: [
      { name: INTERNAL_SHARED_MODULE, source: sourceOf("shared") },
      {
        name: "cloudflare-internal:email",
        source: rewriteImports(sourceOf("cloudflare-email"), INTERNAL_SHARED_MODULE),
      },
      { name: SEND_EMAIL_MODULE, source: rewriteImports(sourceOf("send-email"), INTERNAL_SHARED_MODULE) },
      { name: STREAM_MODULE, source: sourceOf("stream") },
      { name: RATE_LIMIT_MODULE, source: sourceOf("rate-limit") },
      { name: ANALYTICS_MODULE, source: sourceOf("analytics") },
      { name: AI_MODULE, source: sourceOf("ai") },
      { name: SECRETS_STORE_MODULE, source: sourceOf("secrets-store") },
      { name: SCRIPT_RUNNER_MODULE, source: sourceOf("run-script") },
    ],
    tail: [
      { name: "./tail.js", source: rewriteImports(sourceOf("tail")) },
      { name: SHARED_MODULE, source: sourceOf("shared") },
    ],
    objects: {
      objectCalls: rewriteImports(sourceOf("object-calls")),
      remoteObjects: rewriteImports(sourceOf("remote-objects")),
      shared: sourceOf("shared"),
    },
  };
}

/**
 * Returns the files of `inside/` by name: read as emitted in the published package; in a checkout, esbuild strips their
 * types in one call.
 */
function readFolder(): Map<string, string> {
  const names = [
    "shared",
    "message",
    "v8-value",
    "queue-batch",
    "tail-events",
    "mail-entry",
    "listeners",
    "service-worker",
    "run-script",
    "cloudflare-email",
    "send-email",
    "stream",
    "rate-limit",
    "ai",
    "secrets-store",
    "analytics",
    "tail",
    "object-calls",
    "object-namespaces",
    "remote-objects",
  ];
  if (IS_PUBLISHED)
    return new Map(
      names.map((name) => [name, readFileSync(fileOf(name), "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "")]),
    );
  const { buildSync } = createRequire(import.meta.url)("esbuild") as typeof import("esbuild");
  const { outputFiles } = buildSync({
    entryPoints: names.map(fileOf),
    outdir: "/",
    bundle: false,
    format: "esm",
    target: "es2024",
    write: false,
  });
  return new Map(outputFiles.map((file) => [basename(file.path, ".js"), file.text]));
}

const IS_PUBLISHED = import.meta.url.endsWith(".js");
const fileOf = (name: string) =>
  fileURLToPath(new URL(`inside/${name}.${IS_PUBLISHED ? "js" : "ts"}`, import.meta.url));

// The files import each other by path; inside workerd, a user's module and an internal module have different names.
const rewriteImports = (source: string, shared = SHARED_MODULE) => {
  const names: Record<string, string> = {
    shared,
    message: MESSAGE_MODULE,
    listeners: LISTENERS_MODULE,
    "v8-value": V8_VALUE_MODULE,
    "queue-batch": QUEUE_BATCH_MODULE,
    "tail-events": TAIL_EVENTS_MODULE,
  };
  return source.replace(
    /"\.\/(shared|message|listeners|v8-value|queue-batch|tail-events)\.(?:ts|js)"/g,
    (_path, file: string) => JSON.stringify(names[file]),
  );
};

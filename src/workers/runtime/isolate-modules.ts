import { buildSync } from "esbuild";
import { readFileSync } from "node:fs";
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
const MESSAGE = "./__reelpost_message.js";
const V8_VALUE = "./__reelpost_v8_value.js";
const QUEUE_BATCH = "./__reelpost_queue_batch.js";
const TAIL_EVENTS = "./__reelpost_tail_events.js";
export const OBJECT_NAMESPACES_MODULE = "./__reelpost_object_namespaces.js";
export const MAIL = "./__reelpost_mail.js";
const LISTENERS = "./__reelpost_listeners.js";
export const SERVICE_WORKER = "./__reelpost_service_worker.js";
export const SEND_EMAIL = "reelpost-internal:send-email";
export const STREAM_MODULE = "reelpost-internal:stream";
export const RATE_LIMIT = "reelpost-internal:rate-limit";
export const ANALYTICS = "reelpost-internal:analytics";
export const SECRETS_STORE = "reelpost-internal:secrets-store";
export const AI = "reelpost-internal:ai";
export const SCRIPT_RUNNER = "reelpost-internal:run-script";
const SHARED_INTERNAL = "reelpost-internal:shared";

export function loadIsolateModules(): IsolateModules {
  const folder = readFolder();
  const read = (name: string) => folder.get(name) ?? "";
  return {
    beside: [
      { name: SHARED_MODULE, source: read("shared") },
      { name: MESSAGE, source: importing(read("message")) },
      { name: V8_VALUE, source: read("v8-value") },
      { name: QUEUE_BATCH, source: importing(read("queue-batch")) },
      { name: TAIL_EVENTS, source: importing(read("tail-events")) },
      { name: MAIL, source: importing(read("mail-entry")) },
      { name: OBJECT_NAMESPACES_MODULE, source: read("object-namespaces") },
    ],
    forScripts: [
      { name: LISTENERS, source: importing(read("listeners")) },
      { name: SERVICE_WORKER, source: importing(read("service-worker")) },
    ],
    internal: [
      { name: SHARED_INTERNAL, source: read("shared") },
      { name: "cloudflare-internal:email", source: importing(read("cloudflare-email"), SHARED_INTERNAL) },
      { name: SEND_EMAIL, source: importing(read("send-email"), SHARED_INTERNAL) },
      { name: STREAM_MODULE, source: read("stream") },
      { name: RATE_LIMIT, source: read("rate-limit") },
      { name: ANALYTICS, source: read("analytics") },
      { name: AI, source: read("ai") },
      { name: SECRETS_STORE, source: read("secrets-store") },
      { name: SCRIPT_RUNNER, source: read("run-script") },
    ],
    tail: [
      { name: "./tail.js", source: importing(read("tail")) },
      { name: SHARED_MODULE, source: read("shared") },
    ],
    objects: {
      objectCalls: importing(read("object-calls")),
      remoteObjects: importing(read("remote-objects")),
      shared: read("shared"),
    },
  };
}

/**
 * The files of `inside/` by name: read as emitted in the published package; in a checkout, esbuild strips their types
 * in one call.
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
  if (PUBLISHED)
    return new Map(
      names.map((name) => [name, readFileSync(fileOf(name), "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "")]),
    );
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

const PUBLISHED = import.meta.url.endsWith(".js");
const fileOf = (name: string) => fileURLToPath(new URL(`inside/${name}.${PUBLISHED ? "js" : "ts"}`, import.meta.url));

// The files import each other by path; inside workerd, a user's module and an internal module have different names.
const importing = (source: string, shared = SHARED_MODULE) => {
  const names: Record<string, string> = {
    shared,
    message: MESSAGE,
    listeners: LISTENERS,
    "v8-value": V8_VALUE,
    "queue-batch": QUEUE_BATCH,
    "tail-events": TAIL_EVENTS,
  };
  return source.replace(
    /"\.\/(shared|message|listeners|v8-value|queue-batch|tail-events)\.(?:ts|js)"/g,
    (_path, file: string) => JSON.stringify(names[file]),
  );
};

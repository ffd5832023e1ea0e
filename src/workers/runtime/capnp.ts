import { supportedDate } from "../project/config/compatibility.ts";
import type { Binding, WorkerModule, WorkerScript } from "../scripts/script.ts";
import { MAIL_ENTRYPOINT, RUN_SCRIPT } from "./inside/shared.ts";
import {
  AI_MODULE,
  ANALYTICS_MODULE,
  MAIL_MODULE,
  OBJECT_NAMESPACES_MODULE,
  RATE_LIMIT_MODULE,
  SCRIPT_RUNNER_MODULE,
  SECRETS_STORE_MODULE,
  SEND_EMAIL_MODULE,
  SERVICE_WORKER_MODULE,
  STREAM_MODULE,
  type IsolateModules,
} from "./isolate-modules.ts";
import type { Entrypoint } from "./service-calls/entrypoints.ts";
import { RPC_HOST } from "./service-calls/tunnel.ts";
import { objectBinding, OBJECT_CALLS_SERVICE, objectServices, ownObjectFields } from "./object-config.ts";
import {
  isWorkerBinding,
  isRemote,
  OBJECTS_ENTRYPOINT,
  rpcHost,
  serviceName,
  type RemoteBinding,
} from "./remote-bindings.ts";

/** The sockets of one worker process, all in its own folder. */
export interface Sockets {
  /** workerd listens here: messages for the email handler. */
  mail: string;
  /** workerd listens here: requests for the fetch handler. */
  http: string;
  /** Sockets on which workerd listens for calls from other workers, one for each entrypoint. */
  services: { address: string; entrypoint: Entrypoint }[];
  /** The server listens here: bindings, actions and tail. */
  bindings: string;
  /** The server listens here: everything the worker fetches. */
  egress: string;
  /** Path by which the process opens the directory of its Durable Objects; absent if it stores none. */
  objects?: string | undefined;
}

export interface GeneratedConfig {
  /** The configuration as text. It contains the values of the worker's bindings, including secrets. */
  config: string;
  /** Embedded files: file name in the same folder -> content. */
  files: Map<string, string | Uint8Array>;
}

/**
 * The header that identifies to the server which binding of the process is calling. Only configured names are accepted.
 */
export const SERVICE_HEADER = "x-reelpost-service";
export const TAIL_SERVICE = "tail";
/** The scheme of the client's request: workerd uses it to build the URL and does not pass the header on. */
export const SCHEME_HEADER = "x-reelpost-scheme";

const ENTRY = "__reelpost_entry.js";

/**
 * Writes the workerd configuration of one worker process:
 * https://github.com/cloudflare/workerd/blob/main/src/workerd/server/workerd.capnp
 */
export function generateConfig(
  script: WorkerScript,
  isolateModules: IsolateModules,
  sockets: Sockets,
  heapMb: number,
): GeneratedConfig {
  const files = new Map<string, string | Uint8Array>();
  const embed = (content: string | Uint8Array) => {
    const name = `f${files.size}`;
    files.set(name, content);
    return `embed ${text(name)}`;
  };
  const externalService = (name: string, address: string, options: string) =>
    `(name = ${text(name)}, external = (address = ${text(`unix:${address}`)}, http = (${options})))`;
  const binding = (name: string, moreOptions = "") =>
    externalService(
      name,
      sockets.bindings,
      `injectRequestHeaders = [(name = ${text(SERVICE_HEADER)}, value = ${text(name)})]${moreOptions}`,
    );
  const remoteService = (remoteBinding: RemoteBinding) => {
    const name = serviceName(remoteBinding);
    if (!isWorkerBinding(remoteBinding)) return binding(name);
    return binding(
      name,
      `, forwardedProtoHeader = ${text(SCHEME_HEADER)}, capnpConnectHost = ${text(rpcHost(remoteBinding))}`,
    );
  };

  const services = [
    `(name = "user", worker = (${userWorker(script, isolateModules, embed)}))`,
    `(name = "observer", worker = (compatibilityDate = "2026-01-01", modules = [${internalModules(isolateModules.tail, embed)}], bindings = [(name = "server", service = ${text(TAIL_SERVICE)})]))`,
    externalService("egress", sockets.egress, "style = proxy"),
    binding(TAIL_SERVICE),
    ...script.bindings.filter(isRemote).map(remoteService),
    ...objectServices(script, { storage: sockets.objects, sources: isolateModules.objects, text, embed }),
  ];
  const extension = isolateModules.internal.map(
    ({ name, source }) => `(name = ${text(name)}, esModule = ${embed(source)}, internal = true)`,
  );
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  v8Flags = [${text(`--max-heap-size=${heapMb}`)}],
  services = [
    ${services.join(",\n    ")} ],
  sockets = [
    (name = "mail", address = ${text(`unix:${sockets.mail}`)}, http = (), service = (name = "user", entrypoint = ${text(MAIL_ENTRYPOINT)})),
    (name = "http", address = ${text(`unix:${sockets.http}`)}, http = (forwardedProtoHeader = ${text(SCHEME_HEADER)}), service = "user")${sockets.services.map(serviceSocket).join("")} ],
  extensions = [(modules = [${extension.join(", ")}])],
);
`;
  return { config, files };
}

/** Configures a socket for requests and RPC connections to one entrypoint. */
function serviceSocket({ address, entrypoint: { name, props } }: Sockets["services"][number]): string {
  const isObjects = name === OBJECTS_ENTRYPOINT;
  const designator = [
    `name = ${text(isObjects ? OBJECT_CALLS_SERVICE : "user")}`,
    ...(name === undefined || isObjects ? [] : [`entrypoint = ${text(name)}`]),
    ...(props === undefined ? [] : [`props = (json = ${text(JSON.stringify(props))})`]),
  ];
  return `,
    (name = ${text(address)}, address = ${text(`unix:${address}`)}, http = (forwardedProtoHeader = ${text(SCHEME_HEADER)}, capnpConnectHost = ${text(RPC_HOST)}), service = (${designator.join(", ")}))`;
}

type Embed = (content: string | Uint8Array) => string;

function userWorker(script: WorkerScript, isolateModules: IsolateModules, embed: Embed): string {
  return [
    `compatibilityDate = ${text(supportedDate(script.compatibilityDate))}`,
    `compatibilityFlags = [${flagsOf(script).map(text).join(", ")}]`,
    `modules = [${(script.format === "modules" ? moduleList : scriptModules)(script, isolateModules, embed)}]`,
    `bindings = [${[...script.bindings.map((binding) => bindingConfig(binding, script)), ...(script.format === "modules" ? [] : [runnerBinding()])].join(", ")}]`,
    `globalOutbound = "egress"`,
    `tails = ["observer"]`,
    ...ownObjectFields(script, text),
  ].join(", ");
}

/**
 * The first module is the worker: a wrapper that re-exports everything the user's main module exports and adds the mail
 * entrypoint.
 */
function moduleList(script: WorkerScript, isolateModules: IsolateModules, embed: Embed): string {
  const main = text(specifier(script.main));
  const bindsNamespaces = script.bindings.some(({ type }) => type === "durable_object_namespace");
  const entry = `${bindsNamespaces ? `import ${text(OBJECT_NAMESPACES_MODULE)};\n` : ""}import { mailEntrypoint } from ${text(MAIL_MODULE)};
import * as user from ${main};
export * from ${main};
export default user.default;
export const ${MAIL_ENTRYPOINT} = mailEntrypoint(user.default, ${JSON.stringify(tailOptions(script))}, user);
`;
  return [
    `(name = ${text(ENTRY)}, esModule = ${embed(entry)})`,
    internalModules(isolateModules.beside, embed),
    ...script.modules.map(
      (module) => `(name = ${text(module.name)}, ${MODULE_FIELD[module.kind]} = ${embed(module.content)})`,
    ),
  ].join(", ");
}

/**
 * A service-worker script has no modules: the wrapper receives it as text, runs it, and exports the resulting worker.
 */
function scriptModules(script: WorkerScript, isolateModules: IsolateModules, embed: Embed): string {
  const main = specifier(script.main).slice(2);
  const entry = `import { mailEntrypoint } from ${text(MAIL_MODULE)};
import { runScript } from ${text(SERVICE_WORKER_MODULE)};
import source from ${text(SCRIPT)};
const worker = runScript(source, ${text(main)});
export default worker;
export const ${MAIL_ENTRYPOINT} = mailEntrypoint(worker, ${JSON.stringify(tailOptions(script))});
`;
  return [
    `(name = ${text(ENTRY)}, esModule = ${embed(entry)})`,
    internalModules([...isolateModules.beside, ...isolateModules.forScripts], embed),
    `(name = ${text(SCRIPT.slice(2))}, text = ${embed(mainSource(script))})`,
  ].join(", ");
}

const SCRIPT = "./__reelpost_script.txt";
const runnerBinding = () => `(name = ${text(RUN_SCRIPT)}, wrapped = (moduleName = ${text(SCRIPT_RUNNER_MODULE)}))`;

/**
 * A script cannot import its bindings, so disallowing that import does not affect it; the wrapper passes the bindings
 * to it.
 */
const flagsOf = ({ format, compatibilityFlags }: WorkerScript) =>
  format === "modules" ? compatibilityFlags : compatibilityFlags.filter((flag) => flag !== "disallow_importable_env");

/**
 * Unlike calls to the context's own waitUntil(), calls to the one from `import { waitUntil } from "cloudflare:workers"`
 * cannot be observed from within the isolate; neither can messages on diagnostics channels. Both need a tail.
 */
function tailOptions(script: WorkerScript): { alwaysTail: boolean; mayWaitUnobserved: boolean } {
  const sources = script.modules.map(({ content }) =>
    typeof content === "string" ? content : Buffer.from(content.buffer, content.byteOffset, content.byteLength),
  );
  const mayWaitUnobserved = sources.some(mayImportWaitUntil);
  return {
    mayWaitUnobserved,
    alwaysTail: mayWaitUnobserved || sources.some((source) => source.includes("diagnostics_channel")),
  };
}

const RUNTIME_MODULE = "cloudflare:workers";
/** An import of listed names, or of none. */
const NAMED_IMPORTS = /\bimport\s*(?:\{[^{}]*\}\s*from\s*)?["']cloudflare:workers["']/g;

/** False only if all imports of the runtime's module list their names and waitUntil() is not among them. */
function mayImportWaitUntil(source: string | Buffer): boolean {
  if (!source.includes(RUNTIME_MODULE) || !source.includes("waitUntil")) return false;
  const others = source
    .toString()
    .replace(NAMED_IMPORTS, (statement) => (statement.includes("waitUntil") ? statement : ""));
  return others.includes(RUNTIME_MODULE);
}

/** These modules import each other as `./name`, which workerd resolves to `name`. */
const internalModules = (modules: { name: string; source: string }[], embed: Embed) =>
  modules.map(({ name, source }) => `(name = ${text(name.slice(2))}, esModule = ${embed(source)})`).join(", ");

const specifier = (name: string) => (name.startsWith("./") ? name : `./${name}`);

/** Returns the text of the main module. */
export function mainSource(script: WorkerScript): string {
  const main = script.modules.find((module) => module.name === script.main);
  return typeof main?.content === "string" ? main.content : Buffer.from(main?.content ?? []).toString("utf8");
}

const MODULE_FIELD: Record<WorkerModule["kind"], string> = {
  esm: "esModule",
  cjs: "commonJsModule",
  text: "text",
  data: "data",
  wasm: "wasm",
  json: "json",
};

function bindingConfig(binding: Binding, script: WorkerScript): string {
  const name = `name = ${text(binding.name)}`;
  switch (binding.type) {
    case "plain_text":
    case "secret_text":
      return `(${name}, text = ${text(binding.text)})`;
    case "json":
      return `(${name}, json = ${text(JSON.stringify(binding.json))})`;
    case "version_metadata":
      return `(${name}, json = ${text(JSON.stringify(versionMetadata(script)))})`;
    case "kv_namespace":
      return `(${name}, kvNamespace = ${text(serviceName(binding))})`;
    case "r2_bucket":
      return `(${name}, r2Bucket = ${text(serviceName(binding))})`;
    case "d1":
      return `(${name}, wrapped = (moduleName = "cloudflare-internal:d1-api", innerBindings = [(name = "fetcher", service = ${text(serviceName(binding))})]))`;
    case "queue":
      return `(${name}, queue = ${text(serviceName(binding))})`;
    case "stream":
      return wrappedBinding(STREAM_MODULE, binding);
    case "assets":
    case "service":
      return `(${name}, service = ${text(serviceName(binding))})`;
    case "analytics_engine":
      return wrappedBinding(ANALYTICS_MODULE, binding);
    case "ratelimit":
      return wrappedBinding(RATE_LIMIT_MODULE, binding);
    case "ai":
      return wrappedBinding(AI_MODULE, binding);
    case "secrets_store_secret":
      return wrappedBinding(SECRETS_STORE_MODULE, binding);
    case "send_email":
      return wrappedBinding(SEND_EMAIL_MODULE, binding);
    case "durable_object_namespace":
      return objectBinding(binding, text);
  }
}

/** Configures a binding that one of our internal modules implements by calling the server. */
const wrappedBinding = (module: string, binding: RemoteBinding) =>
  `(name = ${text(binding.name)}, wrapped = (moduleName = ${text(module)}, innerBindings = [(name = "server", service = ${text(serviceName(binding))})]))`;

/**
 * Returns the value of a `version_metadata` binding:
 * https://developers.cloudflare.com/workers/runtime-apis/bindings/version-metadata/
 */
const versionMetadata = ({ version, uploaded = { at: new Date(), tag: "" } }: WorkerScript) => ({
  id: version,
  tag: uploaded.tag,
  timestamp: uploaded.at.toISOString(),
});

/** Returns a Cap'n Proto text literal: JSON's escapes except \u, which it lacks; non-ASCII text is written as UTF-8. */
const text = (value: string): string =>
  JSON.stringify(value.toWellFormed()).replace(/\\(?:u00([0-9a-f]{2})|.)/g, (character, hex?: string) =>
    hex === undefined ? character : `\\x${hex}`,
  );

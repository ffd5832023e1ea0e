import type { BindingService, BindingServices } from "../bindings/service.ts";
import type { Binding, DurableObjectBinding, ServiceBinding } from "../scripts/script.ts";

/** The bindings that call the server, and the service that handles each type. */
const SERVICES = {
  kv_namespace: "kv",
  r2_bucket: "r2",
  d1: "d1",
  queue: "queue",
  stream: "stream",
  send_email: "sendEmail",
  ratelimit: "rateLimit",
  analytics_engine: "analytics",
  secrets_store_secret: "secretsStore",
  ai: "ai",
  service: "service",
} as const satisfies Partial<Record<Binding["type"], keyof BindingServices>>;

/** A binding to a Durable Object class of another worker. */
export type ForeignObjects = DurableObjectBinding & { script_name: string };

export const isForeign = (binding: Binding): binding is ForeignObjects =>
  binding.type === "durable_object_namespace" && binding.script_name !== undefined;

export type RemoteBinding = Extract<Binding, { type: keyof typeof SERVICES | "assets" }> | ForeignObjects;

export const isRemote = (binding: Binding): binding is RemoteBinding =>
  binding.type === "assets" || isForeign(binding) || Object.hasOwn(SERVICES, binding.type);

export function serviceOf(binding: RemoteBinding, services: BindingServices): BindingService<RemoteBinding> {
  if (binding.type === "assets") return ownAssets;
  if (binding.type !== "durable_object_namespace")
    return services[SERVICES[binding.type]] as BindingService<RemoteBinding>;
  const called = calledWorker(binding);
  return {
    handle: (request, response, { script }) => services.service.handle(request, response, { script, binding: called }),
  };
}

/** Bindings that call another worker of the account. */
export const callsWorker = (binding: Binding): binding is ServiceBinding | ForeignObjects =>
  binding.type === "service" || isForeign(binding);

/** The entrypoint by which other workers call the Durable Objects of a worker. */
export const OBJECTS_ENTRYPOINT = "ReelpostObjects";

/** The binding as a service binding. */
export const calledWorker = (binding: ServiceBinding | ForeignObjects): ServiceBinding =>
  binding.type === "service"
    ? binding
    : { type: "service", name: binding.name, service: binding.script_name, entrypoint: OBJECTS_ENTRYPOINT };

/** Serves `env.ASSETS` from the files of the calling version. */
const ownAssets: BindingService<RemoteBinding> = {
  async handle(request, response, { script: { assets } }) {
    if (assets === undefined) response.writeHead(404, { "content-length": 0 }).end();
    else await assets.serve(request, response);
  },
};

/**
 * Identifies a binding in the process configuration and in a header, so it must be ASCII. Derived from the name that
 * the code uses, which is unique.
 */
export const serviceName = (binding: RemoteBinding) =>
  `${binding.type}:${encodeURIComponent(binding.name.toWellFormed())}`;

/**
 * Host in the CONNECT requests with which workerd opens an RPC connection to a service binding. Contains only letters
 * and digits.
 */
export const rpcHost = ({ name }: { name: string }) => `rpc${Buffer.from(name.toWellFormed()).toString("hex")}`;

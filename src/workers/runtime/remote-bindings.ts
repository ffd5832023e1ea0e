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
export type ForeignObjectBinding = DurableObjectBinding & { script_name: string };

export const isForeignObjectBinding = (binding: Binding): binding is ForeignObjectBinding =>
  binding.type === "durable_object_namespace" && binding.script_name !== undefined;

export type RemoteBinding = Extract<Binding, { type: keyof typeof SERVICES | "assets" }> | ForeignObjectBinding;

export const isRemote = (binding: Binding): binding is RemoteBinding =>
  binding.type === "assets" || isForeignObjectBinding(binding) || Object.hasOwn(SERVICES, binding.type);

export function serviceOf(binding: RemoteBinding, services: BindingServices): BindingService<RemoteBinding> {
  if (binding.type === "assets") return ownAssets;
  if (binding.type !== "durable_object_namespace")
    return services[SERVICES[binding.type]] as BindingService<RemoteBinding>;
  const serviceBinding = asServiceBinding(binding);
  return {
    handle: (request, response, { script }) =>
      services.service.handle(request, response, { script, binding: serviceBinding }),
  };
}

/** True for bindings that call another worker of the account. */
export const isWorkerBinding = (binding: Binding): binding is ServiceBinding | ForeignObjectBinding =>
  binding.type === "service" || isForeignObjectBinding(binding);

/** The entrypoint through which other workers call the Durable Objects of a worker. */
export const OBJECTS_ENTRYPOINT = "ReelpostObjects";

/** Returns the service binding through which the calls are sent. */
export const asServiceBinding = (binding: ServiceBinding | ForeignObjectBinding): ServiceBinding =>
  binding.type === "service"
    ? binding
    : {
        type: "service",
        name: binding.name,
        service: binding.script_name,
        ...(binding.script_id !== undefined && { service_id: binding.script_id }),
        entrypoint: OBJECTS_ENTRYPOINT,
      };

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
 * Returns the host in the CONNECT requests with which workerd opens an RPC connection to a service binding. Contains
 * only letters and digits.
 */
export const rpcHost = ({ name }: { name: string }) => `rpc${Buffer.from(name.toWellFormed()).toString("hex")}`;

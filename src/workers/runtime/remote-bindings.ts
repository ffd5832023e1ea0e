import type { BindingService, BindingServices } from "../bindings/service.ts";
import type { Binding, ServiceBinding } from "../scripts/script.ts";

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

export type RemoteBinding = Extract<Binding, { type: keyof typeof SERVICES | "assets" }>;

export const isRemote = (binding: Binding): binding is RemoteBinding =>
  binding.type === "assets" || Object.hasOwn(SERVICES, binding.type);

export const serviceOf = ({ type }: RemoteBinding, services: BindingServices): BindingService<RemoteBinding> =>
  type === "assets" ? ownAssets : (services[SERVICES[type]] as BindingService<RemoteBinding>);

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
export const rpcHost = ({ name }: ServiceBinding) => `rpc${Buffer.from(name.toWellFormed()).toString("hex")}`;

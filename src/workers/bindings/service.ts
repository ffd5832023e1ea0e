import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  Binding,
  RateLimitBinding,
  SecretsStoreBinding,
  ServiceBinding,
  WorkerScript,
} from "../scripts/script.ts";
import type { ServiceBindingConnections } from "./services/port.ts";

/**
 * One kind of binding in workerd's protocol: HTTP over the unix socket of one worker process. The binding is selected
 * by the configuration of that process, never by the content of the request.
 */
export interface BindingService<B extends Binding = Binding> {
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    caller: { script: WorkerScript; binding: B },
  ): Promise<void>;
}

export interface BindingServices {
  kv: BindingService<Extract<Binding, { type: "kv_namespace" }>>;
  r2: BindingService<Extract<Binding, { type: "r2_bucket" }>>;
  d1: BindingService<Extract<Binding, { type: "d1" }>>;
  queue: BindingService<Extract<Binding, { type: "queue" }>>;
  stream: BindingService<Extract<Binding, { type: "stream" }>>;
  /** `isOffered` is false if workers have no AI bindings. */
  ai: BindingService<Extract<Binding, { type: "ai" }>> & { isOffered: boolean };
  rateLimit: BindingService<RateLimitBinding>;
  secretsStore: BindingService<SecretsStoreBinding>;
  analytics: BindingService<Extract<Binding, { type: "analytics_engine" }>>;
  service: BindingService<ServiceBinding> & ServiceBindingConnections;
  sendEmail: BindingService<Extract<Binding, { type: "send_email" }>>;
}

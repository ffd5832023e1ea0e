// Calls of Durable Objects by other workers. This worker runs in the process of the objects and has their namespaces as
// bindings; other workers reach it as they reach an entrypoint of a service binding.
import { WorkerEntrypoint } from "cloudflare:workers";
import { OBJECT_HEADER, type ObjectAddress } from "./shared.ts";

type Stub = Record<string, unknown> & { fetch(request: Request): Promise<Response> };
type Method = (...args: unknown[]) => unknown;

export default class extends WorkerEntrypoint<Record<string, DurableObjectNamespace>> {
  #stubOf({ namespaceId, className, id, name }: ObjectAddress): Stub {
    // The class may have been renamed, or deleted and created again, since the caller was started.
    const namespace = this.env[namespaceId] ?? this.env[className];
    if (namespace === undefined) throw new Error(`The Worker has no Durable Object class '${className}'.`);
    return namespace.get(idOf(namespace, { id, name })) as unknown as Stub;
  }

  override async fetch(request: Request): Promise<Response> {
    const address = JSON.parse(decodeURIComponent(request.headers.get(OBJECT_HEADER) ?? "")) as ObjectAddress;
    const headers = new Headers(request.headers);
    headers.delete(OBJECT_HEADER);
    return this.#stubOf(address).fetch(new Request(request, { headers }));
  }

  call(address: ObjectAddress, method: string, args: unknown[]): unknown {
    return (this.#stubOf(address)[method] as Method)(...args);
  }
}

/**
 * An id that was derived from a name is derived again, so that the object knows its name. The id itself is not valid if
 * the class was deleted and created again while the caller was running.
 */
function idOf(namespace: DurableObjectNamespace, { id, name }: Pick<ObjectAddress, "id" | "name">): DurableObjectId {
  if (name === undefined) return namespace.idFromString(id);
  const derived = namespace.idFromName(name);
  if (derived.toString() === id) return derived;
  try {
    // The id belongs to a jurisdiction.
    return namespace.idFromString(id);
  } catch {
    return derived;
  }
}

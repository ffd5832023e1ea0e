// Handles calls from other workers to Durable Objects. This worker runs in the process of the objects, with bindings to
// their namespaces; other workers call it like an entrypoint of a service binding.
import { WorkerEntrypoint } from "cloudflare:workers";
import { OBJECT_HEADER, type ObjectAddress } from "./shared.ts";

type Stub = Record<string, unknown> & { fetch(request: Request): Promise<Response> };
type Method = (...args: unknown[]) => unknown;

export default class extends WorkerEntrypoint<Record<string, DurableObjectNamespace>> {
  #stubOf({ namespaceId, className, id, name }: ObjectAddress): Stub {
    // The class may have been renamed, or deleted and created again, since the caller started.
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
 * Derives an id from its name again, so that the object knows its name. The id itself is invalid if the class was
 * deleted and created again while the caller was running.
 */
function idOf(namespace: DurableObjectNamespace, { id, name }: Pick<ObjectAddress, "id" | "name">): DurableObjectId {
  if (name === undefined) return namespace.idFromString(id);
  const derivedId = namespace.idFromName(name);
  if (derivedId.toString() === id) return derivedId;
  try {
    // A valid id that differs from the derived one belongs to a jurisdiction.
    return namespace.idFromString(id);
  } catch {
    return derivedId;
  }
}

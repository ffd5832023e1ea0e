// Proxies for the Durable Objects of other workers. A proxy has the id of the real object and no state: it forwards
// each request and method call to the process that runs the object.
import { DurableObject } from "cloudflare:workers";
import { OBJECT_HEADER, type ObjectAddress } from "./shared.ts";

interface ObjectCalls {
  fetch(request: Request): Promise<Response>;
  call(address: ObjectAddress, method: string, args: unknown[]): unknown;
}

/** Properties that the runtime itself reads on an object; they are not forwarded. */
const RUNTIME_PROPERTIES = new Set([
  "alarm",
  "webSocketMessage",
  "webSocketClose",
  "webSocketError",
  "then",
  "constructor",
]);

/** Creates the proxy class for a namespace whose worker is called through the binding `binding`. */
export const proxyClassFor = (binding: string, namespace: Pick<ObjectAddress, "namespaceId" | "className">) =>
  class extends DurableObject<Record<string, ObjectCalls>> {
    constructor(state: DurableObjectState, env: Record<string, ObjectCalls>) {
      super(state, env);
      const { id } = state;
      const address: ObjectAddress = {
        ...namespace,
        id: id.toString(),
        ...(id.name !== undefined && { name: id.name }),
      };
      const calls = env[binding]!;
      const fetch = (request: Request) => {
        const headers = new Headers(request.headers);
        // Header values are Latin-1.
        headers.set(OBJECT_HEADER, encodeURIComponent(JSON.stringify(address)));
        return calls.fetch(new Request(request, { headers }));
      };
      return new Proxy(this, {
        get(target, key) {
          if (key === "fetch") return fetch;
          if (typeof key !== "string" || RUNTIME_PROPERTIES.has(key)) return Reflect.get(target, key) as unknown;
          return (...args: unknown[]) => calls.call(address, key, args);
        },
      });
    }
  };

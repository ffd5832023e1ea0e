// Stand-ins for the Durable Objects of other workers. A stand-in has the id of the real object and no state: it passes
// each request and each call on to the process that runs the object.
import { DurableObject } from "cloudflare:workers";
import { OBJECT_HEADER, type ObjectAddress } from "./shared.ts";

interface ObjectCalls {
  fetch(request: Request): Promise<Response>;
  call(address: ObjectAddress, method: string, args: unknown[]): unknown;
}

/** Properties that the runtime itself looks for on an object. */
const OWN = new Set(["alarm", "webSocketMessage", "webSocketClose", "webSocketError", "then", "constructor"]);

/** The class for a namespace that is reached by the binding `binding`. */
export const standInFor = (binding: string, namespace: Pick<ObjectAddress, "namespaceId" | "className">) =>
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
          if (typeof key !== "string" || OWN.has(key)) return Reflect.get(target, key) as unknown;
          return (...args: unknown[]) => calls.call(address, key, args);
        },
      });
    }
  };

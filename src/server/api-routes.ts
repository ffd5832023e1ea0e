import { accountRoutes, kvRoutes, membershipRoutes, r2Routes, tokenRoutes, userRoutes, workerRoutes, type Route } from "../api/index.ts";
import type { Basics, Bindings } from "./compose.ts";
import type { Platform } from "./platform.ts";

/** Every operation of the API, tied to the domains of this process. */
export function composeRoutes({ accounts, scripts }: Platform, bindings: Bindings, workerUrl: (label: string, script: string) => string, { clock }: Basics): Route[] {
  const { kv, r2 } = bindings;
  return [
    ...accountRoutes(accounts),
    ...userRoutes(accounts),
    ...tokenRoutes(accounts),
    ...membershipRoutes(accounts),
    ...workerRoutes({ scripts, urlOf: workerUrl }),
    ...kvRoutes({ ...kv, clock }),
    ...r2Routes({ ...r2, clock }),
  ];
}

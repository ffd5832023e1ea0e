import { accountRoutes, dnsRecordRoutes, kvRoutes, membershipRoutes, r2Routes, tokenRoutes, userRoutes, workerRoutes, zonesRoutes, type Route } from "../api/index.ts";
import type { Basics, Bindings } from "./compose.ts";
import type { Platform } from "./platform.ts";

/** Every operation of the API, tied to the domains of this process. */
export function composeRoutes({ accounts, scripts, zones }: Platform, bindings: Bindings, workerUrl: (label: string, script: string) => string, { clock }: Basics): Route[] {
  const { kv, r2 } = bindings;
  return [
    ...accountRoutes(accounts),
    ...userRoutes(accounts),
    ...tokenRoutes(accounts),
    ...membershipRoutes(accounts),
    ...zonesRoutes({ zones, accounts: accounts.accounts }),
    ...dnsRecordRoutes({ zones }),
    ...workerRoutes({ scripts, urlOf: workerUrl }),
    ...kvRoutes({ ...kv, clock }),
    ...r2Routes({ ...r2, clock }),
  ];
}

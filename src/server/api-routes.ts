import {
  accountRoutes,
  d1Routes,
  dnsRecordRoutes,
  kvRoutes,
  membershipRoutes,
  r2Routes,
  tokenRoutes,
  userRoutes,
  workerRoutes,
  workersTailsRoutes,
  zonesRoutes,
  type Route,
} from "../api/index.ts";
import type { ClientAddress } from "../kernel/client-address.ts";
import type { Basics } from "../kernel/index.ts";
import type { Bindings } from "../workers/index.ts";
import type { Platform } from "./platform.ts";

/** All operations of the API, bound to the domains of this process. */
export function composeRoutes(
  { accounts, scripts, zones, tails }: Platform,
  bindings: Bindings,
  workerUrl: (label: string, script: string) => string,
  { address, publicUrl }: { address: ClientAddress; publicUrl: string },
  { clock }: Basics,
): Route[] {
  const { kv, r2, d1 } = bindings;
  return [
    ...accountRoutes(accounts),
    ...userRoutes(accounts),
    ...tokenRoutes(accounts),
    ...membershipRoutes(accounts),
    ...zonesRoutes({ zones, accounts: accounts.accounts }),
    ...dnsRecordRoutes({ zones }),
    ...workerRoutes({ scripts, urlOf: workerUrl }),
    ...workersTailsRoutes({ tails, scripts, address, publicUrl }),
    ...kvRoutes({ ...kv, clock }),
    ...r2Routes({ ...r2, clock }),
    ...d1Routes({
      list: d1.list,
      databases: d1.databases,
      transfers: d1.transfers,
      ...(publicUrl !== "" && { origin: () => publicUrl.replace(/\/+$/, "") }),
      clock,
    }),
  ];
}

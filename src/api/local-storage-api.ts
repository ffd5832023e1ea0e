import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Basics } from "../kernel/index.ts";
import type { Bindings } from "../workers/index.ts";
import { createApi } from "./app.ts";
import type { AccessControl } from "./ports.ts";
import { queryRoutes } from "./routes/d1/query.ts";
import { createD1TransferHttp, D1_TRANSFERS } from "./routes/d1/routes.ts";
import { transferRoutes } from "./routes/d1/transfers.ts";
import { keyRoutes } from "./routes/kv/keys.ts";
import { valueRoutes } from "./routes/kv/values.ts";
import { objectRoutes } from "./routes/r2/object.ts";
import { wranglerStateRoutes } from "./routes/wrangler-state.ts";

interface LocalStorageApiDeps {
  /** Storage without lists of accounts: each id exists. */
  bindings: Pick<Bindings, "kv" | "r2" | "d1">;
  accessControl: AccessControl;
  /** The URL at which the returned function handles requests, without a trailing slash. */
  url(): string;
}

/**
 * The operations of the v4 API on the content of KV, R2 and D1, for the command line on the storage of `reelpost dev`.
 * The paths of its requests start with /client/v4, or with the path of a D1 transfer.
 */
export function createLocalStorageApi(
  { bindings: { kv, r2, d1 }, accessControl, url }: LocalStorageApiDeps,
  basics: Basics,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { clock, log } = basics;
  const api = createApi({
    ...basics,
    routes: [
      ...keyRoutes(kv),
      ...valueRoutes({ ...kv, clock }),
      ...objectRoutes(r2),
      ...queryRoutes(d1),
      ...transferRoutes({ ...d1, origin: url }),
      ...wranglerStateRoutes({ kv, r2, d1, clock }),
    ],
    version: "dev",
    accessControl,
    rateLimit: { requests: 0, seconds: 1 },
  });
  const answer = getRequestListener(api.fetch, { overrideGlobalObjects: false });
  const transfer = createD1TransferHttp({ transfers: d1.transfers, log });
  return async (request, response) =>
    request.url!.startsWith(D1_TRANSFERS) ? transfer(request, response) : answer(request, response);
}

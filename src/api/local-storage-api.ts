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
  /** Storage without account lists, in which every id exists. */
  bindings: Pick<Bindings, "kv" | "r2" | "d1">;
  accessControl: AccessControl;
  /** Base URL of the requests that the returned function handles, without a trailing slash. */
  url(): string;
}

/**
 * The v4 API operations that read and write KV, R2 and D1 data, with which the command line accesses the storage of
 * `reelpost dev`. Request paths start with /client/v4, or with the path of a D1 transfer.
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
  const handleApi = getRequestListener(api.fetch, { overrideGlobalObjects: false });
  const handleTransfer = createD1TransferHttp({ transfers: d1.transfers, log });
  return async (request, response) =>
    request.url!.startsWith(D1_TRANSFERS) ? handleTransfer(request, response) : handleApi(request, response);
}

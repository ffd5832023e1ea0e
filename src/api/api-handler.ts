import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { createApi } from "./app.ts";
import { cutIdleBody } from "./body-patience.ts";
import { lingerBeforeClose } from "./lingering-close.ts";

/** Handles the requests of the API. */
export type ApiApp = Pick<ReturnType<typeof createApi>, "fetch">;

/** How long the body of a request may stall, in ms. */
const BODY_IDLE_MS = 60_000;

/** Handles requests whose path starts with /client/v4/. Bodies are streamed. */
export function createApiHandler(
  api: ApiApp,
  { bodyIdleMs = BODY_IDLE_MS }: { bodyIdleMs?: number } = {},
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const onApi = getRequestListener(api.fetch, { overrideGlobalObjects: false });
  return (request, response) => {
    cutIdleBody(request, bodyIdleMs);
    lingerBeforeClose(request);
    return onApi(request, response);
  };
}

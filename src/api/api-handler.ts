import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Api } from "./app.ts";
import { cutIdleBody } from "./body-patience.ts";
import { lingerBeforeClose } from "./lingering-close.ts";

/** Handles the requests of the API. */
export type ApiApp = Api;

/** How long the body of a request may stall, in ms. */
const BODY_IDLE_MS = 60_000;

/** Handles requests whose path starts with /client/v4/. Bodies are streamed. */
export function createApiHandler(
  api: ApiApp,
  { bodyIdleMs = BODY_IDLE_MS }: { bodyIdleMs?: number } = {},
): (request: IncomingMessage, response: ServerResponse) => void | Promise<void> {
  const onApi = getRequestListener(api.fetch, { overrideGlobalObjects: false });
  return (request, response) => {
    const reading = api.read(request, response);
    if (reading !== undefined) return reading === true ? undefined : reading;
    cutIdleBody(request, bodyIdleMs);
    lingerBeforeClose(request);
    return onApi(request, response);
  };
}

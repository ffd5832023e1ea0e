import { getRequestListener } from "@hono/node-server";
import type { Basics } from "../kernel/index.ts";
import { createApi } from "./app.ts";
import type { AccessControl } from "./ports.ts";
import { streamRoutes } from "./routes/stream/index.ts";

/** The operations on videos and live inputs of a development server, without a rate limit. */
export function createVideoApi(
  stream: Parameters<typeof streamRoutes>[0],
  accessControl: AccessControl,
  basics: Basics,
): ReturnType<typeof getRequestListener> {
  const { fetch } = createApi({
    ...basics,
    routes: streamRoutes(stream),
    version: "dev",
    accessControl,
    rateLimit: { requests: 0, seconds: 1 },
  });
  return getRequestListener(fetch, { overrideGlobalObjects: false });
}

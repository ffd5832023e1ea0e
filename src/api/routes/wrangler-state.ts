import { z } from "@hono/zod-openapi";
import type { Clock } from "../../kernel/index.ts";
import { importWranglerState, type Bindings } from "../../workers/index.ts";
import { answer, route, type Route } from "../operation.ts";

interface WranglerStateDeps extends Pick<Bindings, "kv" | "r2" | "d1"> {
  clock: Clock;
}

/** Bindings of a worker. */
const MAX_RESOURCES = 1000;
const configured = z.array(z.object({ from: z.array(z.string()), to: z.string() })).max(MAX_RESOURCES);
const copied = z.array(
  z.object({
    from: z.string(),
    to: z.string().nullable(),
    copied: z.number(),
    kept: z.number(),
    problems: z.array(z.object({ name: z.string(), reason: z.string() })),
  }),
);

/** An extension in development: copies the local state of wrangler into the storage. */
export const wranglerStateRoutes = (storage: WranglerStateDeps): Route[] => [
  route(
    {
      id: "import-wrangler-state",
      method: "post",
      path: "/accounts/{account_id}/wrangler-state",
      tag: "Development",
      permission: null,
      summary: "Import the local state of wrangler",
      body: z.object({
        state: z.string(),
        kv: configured,
        r2: configured,
        d1: configured,
        overwrite: z.boolean(),
        dryRun: z.boolean(),
      }),
      result: z.object({ kv: copied, r2: copied, d1: copied }),
    },
    async ({ body }) => answer(await importWranglerState(body, storage)),
  ),
];

import { z } from "@hono/zod-openapi";
import type { Clock } from "../../kernel/index.ts";
import { importWranglerState, type Bindings } from "../../workers/index.ts";
import { respond, route, type Route } from "../operation.ts";

interface WranglerStateDeps extends Pick<Bindings, "kv" | "r2" | "d1"> {
  clock: Clock;
}

/** Maximum number of configured resources of one type. */
const MAX_RESOURCES = 1000;
const configuredResources = z.array(z.object({ from: z.array(z.string()), to: z.string() })).max(MAX_RESOURCES);
const copiedResources = z.array(
  z.object({
    from: z.string(),
    to: z.string().nullable(),
    copied: z.number(),
    kept: z.number(),
    problems: z.array(z.object({ name: z.string(), reason: z.string() })),
  }),
);

/** A development-only operation: copies wrangler's local state into the storage. */
export const wranglerStateRoutes = (storage: WranglerStateDeps): Route[] => [
  route(
    {
      id: "import-wrangler-state",
      method: "post",
      path: "/accounts/{account_id}/wrangler-state",
      tag: "Development",
      permission: null,
      summary: "Import wrangler's local state",
      audit: false,
      body: z.object({
        state: z.string(),
        kv: configuredResources,
        r2: configuredResources,
        d1: configuredResources,
        overwrite: z.boolean(),
        dryRun: z.boolean(),
      }),
      result: z.object({ kv: copiedResources, r2: copiedResources, d1: copiedResources }),
    },
    async ({ body }) => respond(await importWranglerState(body, storage)),
  ),
];

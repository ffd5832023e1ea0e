import { z } from "@hono/zod-openapi";
import type { Clock } from "../../../kernel/index.ts";
import { d1Errors, type D1DatabaseList } from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { ONE_DATABASE } from "./databases.ts";

const timestampSchema = z
  .string()
  .refine((text) => !Number.isNaN(Date.parse(text)), "is not an ISO 8601 time")
  .optional();

/** History is not stored: only a current bookmark is available, and restoring is not supported. */
export function timeTravelRoutes({
  list,
  clock,
  bookmarkOf,
}: {
  list: D1DatabaseList;
  clock: Clock;
  bookmarkOf(database: string): string;
}): Route[] {
  return [
    route(
      {
        tag: "D1",
        permission: "D1 Read",
        id: "d1-time-travel-get-bookmark",
        method: "get",
        path: `${ONE_DATABASE}/time_travel/bookmark`,
        summary: "Get the current bookmark of a D1 database",
        query: z.object({ timestamp: timestampSchema }),
        result: z.object({ bookmark: z.string() }),
      },
      async ({ params, query }) => {
        const { id } = await list.get(params.account_id!, params.database_id!);
        if (query.timestamp !== undefined && Date.parse(query.timestamp) < clock.now()) throw d1Errors.noHistory();
        return respond({ bookmark: bookmarkOf(id) });
      },
    ),
    route(
      {
        tag: "D1",
        permission: "D1 Write",
        id: "d1-time-travel-restore",
        method: "post",
        path: `${ONE_DATABASE}/time_travel/restore`,
        summary: "Restore a D1 database; always fails, because no history is stored",
        query: z.object({ bookmark: z.string().optional(), timestamp: timestampSchema }),
        result: z.object({ bookmark: z.string() }),
      },
      async ({ params }) => {
        await list.get(params.account_id!, params.database_id!);
        throw d1Errors.noHistory();
      },
    ),
  ];
}

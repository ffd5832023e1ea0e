import { z } from "@hono/zod-openapi";
import { UserError } from "../../kernel/index.ts";
import { ANALYTICS_QUERY_BYTES, type Analytics } from "../../workers/index.ts";
import { route, type Route } from "../operation.ts";

const sharedFields = {
  path: "/accounts/{account_id}/analytics_engine/sql",
  tag: "Analytics Engine",
  permission: "Account Analytics Read",
  raw: "application/json",
} as const;

/** The SQL API of Analytics Engine. Its responses and errors have no envelope. */
export function analyticsEngineRoutes({ analytics }: { analytics: Pick<Analytics, "query"> }): Route[] {
  async function runQuery(account: string, sql: string): Promise<Response> {
    try {
      const { type, text } = await analytics.query(account, sql);
      return new Response(text, { headers: { "content-type": type } });
    } catch (err) {
      if (!(err instanceof UserError) || err.domain !== "analytics") throw err;
      return textResponse(err.entry.http, err.message);
    }
  }

  return [
    route(
      {
        ...sharedFields,
        id: "analytics-engine-sql-query-post",
        method: "post",
        summary: "Execute an Analytics Engine SQL query via request body",
        audit: false,
        maxBytes: ANALYTICS_QUERY_BYTES,
      },
      async ({ params, bytes }) => runQuery(params["account_id"]!, new TextDecoder().decode(await bytes())),
    ),
    route(
      {
        ...sharedFields,
        id: "analytics-engine-sql-query-get",
        method: "get",
        summary: "Execute an Analytics Engine SQL query via query parameter",
        query: z.object({ query: z.string().max(ANALYTICS_QUERY_BYTES).optional() }),
      },
      async ({ params, query: { query } }) =>
        query === undefined
          ? textResponse(400, "Query string error: missing field `query`")
          : runQuery(params["account_id"]!, query),
    ),
  ];
}

const textResponse = (status: number, text: string) =>
  new Response(text, { status, headers: { "content-type": "text/plain; charset=utf-8" } });

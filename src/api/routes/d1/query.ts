import { z } from "@hono/zod-openapi";
import { d1Limits } from "../../../workers/index.ts";
import { route, type Call, type Route } from "../../operation.ts";
import { ONE_DATABASE, resolveDatabase, type D1RouteDeps } from "./databases.ts";

// D1 validates the values itself and has its own messages.
const statement = z.object({ sql: z.string(), params: z.array(z.unknown()).nullish() });
const body = z.union([z.object({ batch: z.array(statement).min(1) }), statement]);

/** A BLOB is represented as a list of its bytes. */
const MAX_VALUES = 1_000_000;

/** SQL over the API. All statements of a call run in one transaction, and each returns one result. */
export function queryRoutes(parts: D1RouteDeps): Route[] {
  const sharedFields = {
    tag: "D1",
    permission: "D1 Write",
    method: "post",
    body,
    maxBytes: parts.databases?.limits.requestBytes ?? d1Limits.requestBytes,
    maxValues: MAX_VALUES,
    raw: "application/json",
    audit: false,
  } as const;

  async function run(
    { params, body: requestBody, request }: Call<unknown, z.output<typeof body>>,
    format: "ARRAY_OF_OBJECTS" | "ROWS_AND_COLUMNS",
  ): Promise<Response> {
    const { databases, id } = await resolveDatabase(parts, params);
    const statements = ("batch" in requestBody ? requestBody.batch : [requestBody]).map(({ sql, params: values }) => ({
      sql,
      ...(values && { params: values }),
    }));
    const results = await databases.script(id, statements, { format, signal: request.signal });
    // Wraps the output of the database process in the envelope without parsing it, because it may be tens of megabytes
    // long.
    return new Response(Buffer.concat([HEAD, results, TAIL]), { headers: { "content-type": "application/json" } });
  }

  return [
    route(
      {
        ...sharedFields,
        id: "d1-query-database",
        path: `${ONE_DATABASE}/query`,
        summary: "Query a D1 database; rows are returned as objects",
      },
      (call) => run(call, "ARRAY_OF_OBJECTS"),
    ),
    route(
      {
        ...sharedFields,
        id: "d1-raw-database-query",
        path: `${ONE_DATABASE}/raw`,
        summary: "Query a D1 database; rows are returned as arrays",
      },
      (call) => run(call, "ROWS_AND_COLUMNS"),
    ),
  ];
}

const HEAD = Buffer.from('{"success":true,"errors":[],"messages":[],"result":');
const TAIL = Buffer.from("}");

import { z } from "@hono/zod-openapi";
import { route, type Route } from "../../operation.ts";
import { createBudget, GRAPHQL_LIMITS, type BudgetLimits } from "./budget.ts";
import { emptyDataset } from "./dataset.ts";
import { selectedFields } from "./fields.ts";
import { QueryError } from "./lex.ts";
import { parseQuery } from "./parse.ts";
import { resolveFields, type Datasets } from "./viewer.ts";

export interface GraphqlDeps {
  datasets?: Partial<Datasets>;
  zoneAccount?(zone: string): Promise<string | undefined>;
  /** Limits of one request. */
  limits?: Partial<BudgetLimits>;
}

const body = z.object({
  query: z.string(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  operationName: z.string().nullish(),
});

/**
 * POST /graphql: GraphQL queries on a few datasets, without the v4 envelope. `d1AnalyticsAdaptiveGroups` (`wrangler d1
 * info`) is empty, which clients read as zeros. Query errors are returned in GraphQL format with status 200.
 */
export function graphqlRoutes({
  datasets = {},
  zoneAccount = async () => undefined,
  limits = {},
}: GraphqlDeps = {}): Route[] {
  const datasetsByScope: Datasets = {
    accounts: { d1AnalyticsAdaptiveGroups: emptyDataset("D1 Read"), ...datasets.accounts },
    zones: { ...datasets.zones },
  };
  return [
    route(
      {
        id: "graphql",
        method: "post",
        path: "/graphql",
        tag: "Analytics",
        summary: "Query analytics: email by zone, and the datasets that wrangler requests",
        audit: false,
        permission: null,
        body,
        raw: "application/json",
        maxBytes: 100_000,
      },
      async ({ body: { query, variables, operationName }, caller }) => {
        try {
          const fields = selectedFields(parseQuery(query), operationName || undefined, variables ?? {});
          return Response.json({
            data: await resolveFields(fields, caller, {
              datasets: datasetsByScope,
              zoneAccount,
              budget: createBudget({ ...GRAPHQL_LIMITS, ...limits }),
            }),
            errors: null,
          });
        } catch (err) {
          if (!(err instanceof QueryError)) throw err;
          return Response.json({ data: null, errors: [{ message: err.message, path: err.path }] });
        }
      },
    ),
  ];
}

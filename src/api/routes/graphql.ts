import { z } from "@hono/zod-openapi";
import type { Permission } from "../../accounts/index.ts";
import { route, type Route } from "../operation.ts";

/** One table of the hosted service's analytics, as far as a command of wrangler cannot do without it. */
export interface Dataset {
  permission: Permission;
  /** Rows as the query selects them; empty where nothing is counted. */
  rows(account: string, filter: unknown): Promise<unknown[]>;
}

const body = z.object({ query: z.string(), variables: z.looseObject({ accountTag: z.string().optional(), filter: z.unknown() }).nullish(), operationName: z.string().nullish() });

/**
 * POST /graphql. No GraphQL is spoken here: a query is known by the dataset it names. `d1AnalyticsAdaptiveGroups` (`wrangler d1 info`) is empty,
 * which is read as zeros; other datasets are those that are given; the rest is refused as GraphQL refuses, without the v4 envelope.
 */
export function graphqlRoutes(datasets: Record<string, Dataset> = {}): Route[] {
  const known = new Map(Object.entries<Dataset>({ d1AnalyticsAdaptiveGroups: { permission: "D1 Read", rows: async () => [] }, ...datasets }));
  return [
    route({ id: "graphql", method: "post", path: "/graphql", tag: "Analytics", summary: "Analytics that wrangler asks for", permission: null, body, raw: "application/json", maxBytes: 100_000 },
      async ({ body: { query, variables }, caller }) => {
        const account = variables?.accountTag;
        const names = [...query.matchAll(/\b([A-Za-z0-9]+AdaptiveGroups)\b/g)].map(([, name]) => name!);
        const missing = names.find((name) => !known.has(name));
        if (account === undefined || names.length === 0 || missing !== undefined) return refuse(missing === undefined ? "only datasets of an account are here" : `there is no dataset ${missing}: this server keeps no such statistics`);
        const chosen = [...new Set(names)].map((name) => [name, known.get(name)!] as const);
        if (!chosen.every(([, { permission }]) => caller.allows(permission, { account }))) return refuse("not authorized for that account");
        const tables = await Promise.all(chosen.map(async ([name, { rows }]) => [name, await rows(account, variables?.filter)] as const));
        return Response.json({ data: { viewer: { accounts: [Object.fromEntries(tables)] } }, errors: null });
      }),
  ];
}

const refuse = (message: string) => Response.json({ data: null, errors: [{ message, path: null }] });

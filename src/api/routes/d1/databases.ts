import { z } from "@hono/zod-openapi";
import { d1Errors, type D1Database, type D1DatabaseList, type D1Databases } from "../../../workers/index.ts";
import { noChosenIds, type ChosenIds } from "../../chosen-id.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";

const DATABASES = "/accounts/{account_id}/d1/database";
export const ONE_DATABASE = `${DATABASES}/{database_id}`;

export interface D1RouteDeps {
  list: D1DatabaseList;
  /** If absent, another process has the files, and operations that need them are rejected. */
  databases?: D1Databases;
  /** Default: ids cannot be chosen. */
  chosenIds?: ChosenIds;
}

const jurisdictions = ["eu", "fedramp", "us"] as const;
const locations = ["wnam", "enam", "weur", "eeur", "apac", "oc"] as const;
const replication = z.object({ mode: z.enum(["auto", "disabled"]) });

const listedSchema = z.object({
  uuid: z.string(),
  name: z.string(),
  version: z.string(),
  created_at: z.string(),
  jurisdiction: z.string().nullable(),
});
const detailedSchema = listedSchema
  .extend({ num_tables: z.number().optional(), file_size: z.number().optional(), read_replication: replication })
  .partial();

const COUNT_TABLES_SQL =
  "select count(*) from sqlite_master where type = 'table' and substr(name, 1, 7) <> 'sqlite_' and lower(substr(name, 1, 4)) <> '_cf_'";

/** The databases of an account. */
export function databaseRoutes({ list, databases, chosenIds = noChosenIds }: D1RouteDeps): Route[] {
  const read = { tag: "D1", permission: "D1 Read" } as const;
  const write = { tag: "D1", permission: "D1 Write" } as const;

  async function details(database: D1Database) {
    return {
      ...show(database),
      ...(await measures(database.id)),
      read_replication: { mode: database.readReplication },
    };
  }

  async function measures(id: string): Promise<{ num_tables?: number; file_size?: number }> {
    if (!databases) return {};
    const size = await databases.size(id);
    // Querying an unused database would create its file.
    const tables =
      size === 0 ? 0 : Number((await databases.query(id, [{ sql: COUNT_TABLES_SQL }]))[0]!.results.rows[0]![0]);
    return { num_tables: tables, file_size: size };
  }

  const change = async (account: string, id: string, mode: D1Database["readReplication"] | undefined) => {
    if (mode === undefined) return respond(await details(await list.get(account, id)));
    return respond(await details(await list.changeReadReplication(account, id, mode)));
  };

  return [
    route(
      {
        ...read,
        id: "d1-list-databases",
        method: "get",
        path: DATABASES,
        summary: "List D1 databases",
        query: z.object({ ...pageQuery({ perPage: 1000, max: 10_000 }), name: z.string().optional() }),
        result: z.array(listedSchema),
      },
      async ({ params, query }) => {
        const page = pageRequest(query);
        return respondWithPage(
          await list.list(params.account_id!, page, query.name === "" ? undefined : query.name),
          page,
          show,
        );
      },
    ),
    route(
      {
        ...write,
        id: "d1-create-database",
        method: "post",
        path: DATABASES,
        summary: "Create a D1 database",
        chosenId: "uuid",
        result: detailedSchema,
        body: z.object({
          name: z.string(),
          jurisdiction: z.enum(jurisdictions).nullish(),
          primary_location_hint: z.enum(locations).nullish(),
          read_replication: replication.nullish(),
        }),
      },
      async (call) => {
        const { params, body } = call;
        const id = await chosenIds.of(call, "uuid");
        const {
          name,
          jurisdiction,
          primary_location_hint: locationHint,
          read_replication: requestedReplication,
        } = body;
        return respond(
          await details(
            await list.create(params.account_id!, {
              name,
              ...(id !== undefined && { id }),
              ...(jurisdiction && { jurisdiction }),
              ...(locationHint && { locationHint }),
              ...(requestedReplication && { readReplication: requestedReplication.mode }),
            }),
          ),
        );
      },
    ),
    route(
      {
        ...read,
        id: "d1-get-database",
        method: "get",
        path: ONE_DATABASE,
        summary: "Get a D1 database by id or name",
        query: z.object({ fields: z.string().or(z.array(z.string())).optional() }),
        result: detailedSchema,
      },
      async ({ params, query }) => {
        const detailedResult = await details(await list.get(params.account_id!, params.database_id!));
        const requestedFields =
          query.fields === undefined ? undefined : [query.fields].flat().flatMap((fields) => fields.split(","));
        return respond(
          requestedFields === undefined
            ? detailedResult
            : Object.fromEntries(Object.entries(detailedResult).filter(([name]) => requestedFields.includes(name))),
        );
      },
    ),
    route(
      {
        ...write,
        id: "d1-update-database",
        method: "put",
        path: ONE_DATABASE,
        summary: "Update a D1 database",
        body: z.object({ read_replication: replication }),
        result: detailedSchema,
      },
      async ({ params, body }) => change(params.account_id!, params.database_id!, body.read_replication.mode),
    ),
    route(
      {
        ...write,
        id: "d1-update-partial-database",
        method: "patch",
        path: ONE_DATABASE,
        summary: "Update a D1 database partially",
        body: z.object({ read_replication: replication.optional() }),
        result: detailedSchema,
      },
      async ({ params, body }) => change(params.account_id!, params.database_id!, body.read_replication?.mode),
    ),
    route(
      {
        ...write,
        id: "d1-delete-database",
        method: "delete",
        path: ONE_DATABASE,
        summary: "Delete a D1 database",
        result: z.null(),
      },
      async ({ params }) => {
        await list.delete(params.account_id!, params.database_id!);
        return respond(null);
      },
    ),
  ];
}

/** Finds the database in the path. Throws databaseNotFound, and `elsewhere` in a process without the files. */
export async function resolveDatabase(
  { list, databases }: D1RouteDeps,
  params: Record<string, string>,
): Promise<{ databases: D1Databases; id: string }> {
  const { id } = await list.get(params.account_id!, params.database_id!);
  if (!databases) throw d1Errors.elsewhere();
  return { databases, id };
}

const show = ({ id, name, createdAt, jurisdiction }: D1Database) => ({
  uuid: id,
  name,
  version: "production",
  created_at: createdAt.toISOString(),
  jurisdiction,
});

import type { TargetDatabase } from "../../workers/project/index.ts";
import { hasErrorCode } from "../api/codes.ts";
import type { ApiConnection } from "../api/connect.ts";
import { pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import type { CommandContext } from "../command.ts";
import { commandErrors } from "../errors.ts";
import type { StorageValues } from "../shared-options.ts";
import { connectStorage } from "../worker-of.ts";

export interface D1Connection extends ApiConnection {
  /** The id of the database with the given name. */
  id: string;
  name: string;
  /** `/accounts/<id>/d1/database/<uuid>` */
  database: string;
  /** Its entry in the configuration. */
  configured: TargetDatabase | undefined;
}

export interface ApiDatabase {
  uuid: string;
  name: string;
  version?: string;
  created_at?: string;
  file_size?: number;
  num_tables?: number;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const databaseArgument = {
  name: "database",
  summary: "database name, binding in the configuration, or id",
  required: true,
} as const;

/** Finds a database by its binding, name or id. Names with an id in the configuration are not looked up. */
export async function connectDatabase(
  name: string,
  values: StorageValues,
  context: CommandContext,
): Promise<D1Connection> {
  const { target, ...connection } = await connectStorage(values, context);
  const configured = target?.d1Databases.find((database) =>
    [database.binding, database.name, database.id].includes(name),
  );
  if (values.local === true && configured === undefined)
    throw commandErrors.databaseNotLocal({
      name,
      names: target?.d1Databases.map(({ binding }) => binding).join(", ") || "none",
    });
  const id =
    values.local === true
      ? configured!.localId
      : (configured?.id ?? (UUID.test(name) ? name : await idOf(configured?.name ?? name, connection)));
  return {
    ...connection,
    id,
    name: configured?.name ?? name,
    database: `${connection.base}/d1/database${at`/${id}`}`,
    configured,
  };
}

async function idOf(name: string, { api, base }: ApiConnection): Promise<string> {
  for await (const database of pagesOf<ApiDatabase>(api, `${base}/d1/database`, { query: { name } }))
    if (database.name === name) return database.uuid;
  // Database ids may be in a custom format.
  const foundDatabase = await api
    .result<ApiDatabase>("GET", `${base}/d1/database${at`/${name}`}`)
    .catch((thrown: unknown) => {
      if (hasErrorCode(thrown, 7404, 7400, 7403, 7003, 10001)) return undefined;
      throw thrown;
    });
  if (foundDatabase === undefined) throw commandErrors.databaseUnknown({ name });
  return foundDatabase.uuid;
}

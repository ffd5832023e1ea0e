import type { ProjectTarget } from "../workers/project/index.ts";
import { connectToApi, type ApiConnection } from "./api/connect.ts";
import { at } from "./api/paths.ts";
import type { CommandContext } from "./command.ts";
import { commandErrors } from "./errors.ts";
import { checkLocalOptions, connectLocalStorage } from "./storage/local.ts";
import type { StorageValues, WorkerValues } from "./shared-options.ts";

/** The worker that a command concerns, and its server. */
export interface WorkerConnection extends ApiConnection {
  name: string;
  /** `/accounts/<id>/workers/scripts/<name>` */
  script: string;
}

/** Resolves with the specified worker, or the one in the configuration. */
export async function connectWorker(
  values: WorkerValues,
  context: CommandContext,
  argument?: string,
): Promise<WorkerConnection> {
  const target = await configurationOf(values, context);
  const name = argument ?? values.name ?? target?.name;
  if (name === undefined) throw commandErrors.workerUnnamed();
  const connection = await connectToApi(values, context, target);
  return { ...connection, name, script: `${connection.base}/workers/scripts${at`/${name}`}` };
}

/**
 * Resolves with the connection of a storage command, and the configuration if there is one. With `--local`, it connects
 * to the storage of `reelpost dev`.
 */
export async function connectStorage(
  values: StorageValues,
  context: CommandContext,
): Promise<ApiConnection & { target: ProjectTarget | undefined }> {
  checkLocalOptions(values);
  const target = await configurationOf(values, context);
  const connection =
    values.local === true ? connectLocalStorage(values, context, target) : connectToApi(values, context, target);
  return { ...(await connection), target };
}

/** Resolves with the configuration that the options select; undefined if there is none. */
export async function configurationOf(
  { config, env }: Pick<StorageValues, "config" | "env">,
  { cwd }: Pick<CommandContext, "cwd">,
): Promise<ProjectTarget | undefined> {
  const { readProjectTarget } = await import("../workers/project/index.ts");
  return readProjectTarget({
    cwd,
    ...(config !== undefined && { config }),
    ...(env !== undefined && { environment: env }),
  });
}

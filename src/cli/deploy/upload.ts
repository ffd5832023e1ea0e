import type { Project } from "../../workers/project/index.ts";
import { hasErrorCode } from "../api/codes.ts";
import { connectToApi } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import type { CommandContext } from "../command.ts";
import { commandErrors } from "../errors.ts";
import type { StorageValues } from "../shared-options.ts";
import type { WorkerConnection } from "../worker-of.ts";

/** Connects to the server and fetches the existing worker, undefined if there is none. */
export async function connectForUpload(
  project: Project,
  values: StorageValues,
  context: CommandContext,
): Promise<WorkerConnection & { secrets: string[] | undefined }> {
  const connection = await connectToApi(values, context, { accountId: project.deploy.accountId });
  const script = `${connection.base}/workers/scripts${at`/${project.name}`}`;
  const secrets = await connection.api.result<{ name: string }[]>("GET", `${script}/secrets`).then(
    (existingNames) => existingNames.map(({ name }) => name),
    (thrown: unknown) => {
      if (hasErrorCode(thrown, 10007)) return undefined;
      throw thrown;
    },
  );
  return { ...connection, name: project.name, script, secrets };
}

/** A worker without a required secret would fail when it first uses it. */
export function checkSecrets({ name, requiredSecrets }: Project, existingSecrets: readonly string[] | undefined): void {
  const missingSecrets = requiredSecrets.filter((secret) => existingSecrets?.includes(secret) !== true);
  // Before the first deploy, the worker does not exist and cannot have secrets.
  if (missingSecrets.length > 0 && existingSecrets !== undefined)
    throw commandErrors.secretsMissing({ name, missing: missingSecrets.join(", "), first: missingSecrets[0] });
}

import type { Project } from "../../workers/project/index.ts";
import { hasErrorCode } from "../api/codes.ts";
import { at } from "../api/paths.ts";
import { commandErrors } from "../errors.ts";
import type { WorkerConnection } from "../worker-of.ts";

/**
 * Resolves with the `migrations` field of the upload metadata: the steps that follow the worker's current tag, which
 * the server has not applied yet. Undefined if there are none. Throws migrationTagMissing.
 */
export async function pendingMigrations(
  { api, base }: Pick<WorkerConnection, "api" | "base">,
  { name, objectMigrations: migrations }: Pick<Project, "name" | "objectMigrations">,
): Promise<object | undefined> {
  if (migrations.length === 0) return undefined;
  const appliedTag = await readAppliedTag();
  const index = migrations.findIndex(({ tag }) => tag === appliedTag);
  if (appliedTag !== undefined && index < 0) throw commandErrors.migrationTagMissing({ name, tag: appliedTag });
  const pendingSteps = migrations.slice(index + 1);
  if (pendingSteps.length === 0) return undefined;
  return {
    ...(appliedTag !== undefined && { old_tag: appliedTag }),
    new_tag: pendingSteps.at(-1)!.tag,
    steps: pendingSteps.map(({ tag: _tag, ...step }) => step),
  };

  async function readAppliedTag(): Promise<string | undefined> {
    try {
      const service = await api.result<{ default_environment: { script: { migration_tag?: string } } }>(
        "GET",
        `${base}/workers/services${at`/${name}`}`,
      );
      return service.default_environment.script.migration_tag;
    } catch (thrown) {
      // The worker does not exist yet.
      if (hasErrorCode(thrown, 10090)) return undefined;
      throw thrown;
    }
  }
}

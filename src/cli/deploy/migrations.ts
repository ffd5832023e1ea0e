import type { Project } from "../../workers/index.ts";
import { isCode } from "../api/codes.ts";
import { at } from "../api/paths.ts";
import { commandErrors } from "../errors.ts";
import type { WorkerConnection } from "../worker-of.ts";

/**
 * The entries of `migrations` that the server has not applied yet: those after the worker's tag. Undefined if there are
 * none.
 */
export async function pendingMigrations(
  { api, base }: Pick<WorkerConnection, "api" | "base">,
  { name, objectMigrations: all }: Pick<Project, "name" | "objectMigrations">,
): Promise<object | undefined> {
  if (all.length === 0) return undefined;
  const old = await currentTag();
  const index = all.findIndex(({ tag }) => tag === old);
  if (old !== undefined && index < 0) throw commandErrors.migrationTagMissing({ name, tag: old });
  const pending = all.slice(index + 1);
  if (pending.length === 0) return undefined;
  return {
    ...(old !== undefined && { old_tag: old }),
    new_tag: pending.at(-1)!.tag,
    steps: pending.map(({ tag: _tag, ...step }) => step),
  };

  async function currentTag(): Promise<string | undefined> {
    try {
      const service = await api.result<{ default_environment: { script: { migration_tag?: string } } }>(
        "GET",
        `${base}/workers/services${at`/${name}`}`,
      );
      return service.default_environment.script.migration_tag;
    } catch (thrown) {
      // The worker does not exist yet.
      if (isCode(thrown, 10090)) return undefined;
      throw thrown;
    }
  }
}

import { listWorkers, type ListedScript } from "../kinds/workers.ts";
import { queuesOf } from "../kinds/queues.ts";
import { readWorkerCode } from "../kinds/worker-modules.ts";
import type { ItemProgress, PlannedItem } from "../port.ts";
import { apiPath } from "../requests.ts";
import { listItem, saveResult, unlessUnavailable, type ExportContext } from "./export-context.ts";
import { apiFile, codeFile, moduleFile, type CodeDescription } from "./layout.ts";

/**
 * Plans the export of workers with their modules and settings, and with only the names of their secrets, because the
 * API does not return the values.
 */
export async function exportWorkers(context: ExportContext): Promise<PlannedItem[]> {
  const { source, paths, files } = context;
  const path = `${paths.source}/workers/scripts`;
  const scripts = await unlessUnavailable(context, path, listWorkers(source.api, paths.source));
  const lists: PlannedItem = {
    ...listItem("workers"),
    async apply() {
      if (scripts !== undefined) await files.writeJson(apiFile(path), scripts);
      const queues = await unlessUnavailable(context, `${paths.source}/queues`, queuesOf(source.api, paths.source));
      if (queues !== undefined) await files.writeJson(apiFile(`${paths.source}/queues`), queues);
      context.count("queue", queues?.length ?? 0);
      await saveResult(context, `${paths.source}/workers/domains`, { pages: "numbered", perPage: 1000 });
      await saveResult(context, `${paths.source}/workers/durable_objects/namespaces`, {
        pages: "numbered",
        perPage: 100,
      });
      await exportSecretsStores(context);
    },
  };
  return [
    lists,
    ...(scripts ?? []).map((script): PlannedItem => ({
      kind: "worker",
      key: `worker ${script.id}`,
      name: script.id,
      action: "new",
      apply: (progress) => exportWorker(context, script, progress),
    })),
  ];
}

async function exportWorker(
  context: ExportContext,
  { id: name, has_assets: hasAssets }: ListedScript,
  progress: ItemProgress,
): Promise<void> {
  const { source, paths, files } = context;
  const path = `${paths.source}/workers/scripts${apiPath`/${name}`}`;
  const { main, format, modules } = await readWorkerCode(source.api, path);
  for (const { name: module, content } of modules) {
    await files.write(moduleFile(name, module), [content]);
    progress.bytes(content.length);
  }
  await files.writeJson(codeFile(name), {
    main,
    format,
    modules: modules.map((module) => ({ name: module.name, type: module.type })),
  } satisfies CodeDescription);
  for (const part of ["settings", "schedules", "secrets", "subdomain"]) await saveResult(context, `${path}/${part}`);
  if (hasAssets === true || modules.length === 0)
    progress.warn("its static assets are not exported: the API does not return them");
  context.count("worker", 1);
}

/** The API returns the names of the secrets, not their values. */
async function exportSecretsStores(context: ExportContext): Promise<void> {
  const path = `${context.paths.source}/secrets_store/stores`;
  const stores = await saveResult<{ id: string }[]>(context, path, { pages: "numbered" });
  for (const { id } of stores ?? [])
    await saveResult(context, `${path}${apiPath`/${id}`}/secrets`, { pages: "numbered" });
}

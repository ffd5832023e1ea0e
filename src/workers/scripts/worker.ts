import type { ScriptObjects } from "../objects/port.ts";
import type { ScriptObjectsStore } from "../objects/script-objects.ts";
import type { Db, ObjectStore, Secrets } from "../../store/index.ts";
import type { AssetSite } from "../assets/site/site.ts";
import type { Assets } from "../assets/store/assets.ts";
import { workerErrors } from "../errors.ts";
import { openBinding } from "./bindings.ts";
import { readModules } from "./module-objects.ts";
import type { UploadedModule } from "./port.ts";
import type { ScriptsTables } from "./schema.ts";
import { withTargetIds } from "./target-ids.ts";
import type { WorkerModule, WorkerScript } from "./script.ts";
import { findScriptById } from "./scripts-table.ts";
import { findVersion, listModules, type VersionRecord } from "./versions-table.ts";

type Runnable = Pick<
  VersionRecord,
  | "id"
  | "account"
  | "scriptId"
  | "createdAt"
  | "format"
  | "main"
  | "bindings"
  | "compatibilityDate"
  | "compatibilityFlags"
  | "limits"
  | "annotations"
>;

/** The runtime's key for a version. `revision` is that of its script. */
export const versionKey = (
  { account, scriptId, id }: Pick<VersionRecord, "account" | "scriptId" | "id">,
  revision: number,
): string => `${account}/${scriptId}/${id}${revision === 0 ? "" : `/${revision}`}`;

/** Returns a version for the runtime, with its secrets decrypted. */
export function workerScriptOf(
  version: Runnable,
  {
    name,
    revision,
    modules,
    secrets,
    assets,
    objects,
  }: {
    name: string;
    revision: number;
    modules: UploadedModule[];
    secrets: Secrets;
    assets?: AssetSite | undefined;
    objects?: ScriptObjects | undefined;
  },
): WorkerScript {
  const sourceMap = mapOf(version.main, modules);
  return {
    name,
    version: version.id,
    key: versionKey(version, revision),
    account: version.account,
    format: version.format,
    main: version.main,
    modules: modules
      .filter((module): module is WorkerModule & { contentType: string } => module.kind !== "source-map")
      .map(({ name: specifier, kind, content }) => ({ name: specifier, kind, content })),
    ...(sourceMap !== undefined && { sourceMap }),
    compatibilityDate: version.compatibilityDate,
    compatibilityFlags: version.compatibilityFlags,
    bindings: version.bindings.map((binding) => openBinding(binding, version.scriptId, secrets)),
    ...(version.limits !== undefined && { limits: version.limits }),
    uploaded: { at: new Date(version.createdAt), tag: version.annotations["workers/tag"] ?? "" },
    ...(assets !== undefined && { assets }),
    ...(objects !== undefined && { objects }),
  };
}

/** Reads a stored version. Throws versionMissing. */
export async function loadWorker(
  id: string,
  {
    db,
    objects,
    secrets,
    assets,
    durableObjects,
  }: {
    db: Db;
    objects: ObjectStore;
    secrets: Secrets;
    assets: Assets;
    durableObjects: Pick<ScriptObjectsStore, "resolveVersion">;
  },
): Promise<{ worker: WorkerScript; size: number }> {
  const tables = db.tables<ScriptsTables>();
  const version = await findVersion(tables, id);
  const script = version && (await findScriptById(tables, version.scriptId));
  if (version === undefined || script === undefined)
    throw workerErrors.versionMissing({ version: id, script: script?.name ?? "that had it" });
  const modules = await readModules(await listModules(tables, id), objects);
  const versionAssets = version.hasAssets ? await assets.findByVersion(id) : undefined;
  const openedAssets = versionAssets && (await assets.open(version, versionAssets));
  const { bindings, objects: scriptObjects } = await durableObjects.resolveVersion({
    ...version,
    script: script.name,
  });
  return {
    worker: workerScriptOf(
      { ...version, bindings: await withTargetIds(tables, version.account, bindings) },
      {
        name: script.name,
        revision: script.revision,
        modules,
        secrets,
        assets: openedAssets?.site,
        objects: scriptObjects,
      },
    ),
    size: version.size + (openedAssets?.weight ?? 0),
  };
}

/** wrangler sends the source map of `index.js` as `index.js.map`. */
function mapOf(main: string, modules: UploadedModule[]): string | undefined {
  const maps = modules.filter((module) => module.kind === "source-map");
  const foundMap = maps.find(({ name }) => name === `${main}.map`) ?? (maps.length === 1 ? maps[0] : undefined);
  return foundMap === undefined ? undefined : String(foundMap.content);
}

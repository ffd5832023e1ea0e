import { createHash } from "node:crypto";
import { isUniqueViolation } from "../../store/index.ts";
import { workerErrors } from "../errors.ts";
import { checkStoredSecrets, checkTargets } from "./bindings.ts";
import { announce, writeDeployment } from "./deploy.ts";
import type { DeploymentRecord } from "./deployments-table.ts";
import { storeModules } from "./module-objects.ts";
import type { ScriptsDeps } from "./deps.ts";
import type { Annotations, ScriptSettings, UploadedModule, Uploader, Version } from "./port.ts";
import type { ScriptsTables } from "./schema.ts";
import type { VersionAssets } from "../assets/store/version-assets-table.ts";
import { checkExportedClasses, type ObjectPlan } from "../objects/migration-plan.ts";
import type { DurableObjectMigrations } from "../objects/port.ts";
import type { ObjectTables } from "../objects/schema.ts";
import { addScript } from "./new-script.ts";
import { findScript, updateScript, type ScriptRecord } from "./scripts-table.ts";
import {
  findVersion,
  insertVersion,
  listModules,
  pruneVersions,
  type ModuleRecord,
  type VersionRecord,
} from "./versions-table.ts";
import { checkTailConsumers } from "./tail-consumers.ts";
import { withTargetIds } from "./target-ids.ts";
import { workerScriptOf } from "./worker.ts";

/** The starting point of a new version. */
export interface Base {
  /** For a worker that does not exist yet: its future id. */
  scriptId: string;
  script?: ScriptRecord;
  /** The newest version and its modules. */
  latest?: VersionRecord;
  modules: ModuleRecord[];
}

/** The content of a new version. */
export interface VersionContent extends Pick<
  Version,
  "format" | "main" | "bindings" | "compatibilityDate" | "compatibilityFlags" | "limits" | "annotations"
> {
  modules: UploadedModule[];
  assets?: VersionAssets;
  migrations?: DurableObjectMigrations;
  /** If set, the version goes live immediately, with these annotations of the deployment. */
  deploy?: Annotations;
}

interface VersionRequest {
  account: string;
  name: string;
  uploader: Uploader;
  /** True to create the worker if it does not exist; if false, scriptMissing is thrown instead. */
  create: boolean;
  settings?: Partial<ScriptSettings>;
  /** Called again if another process was faster and the base has changed. */
  plan(base: Base): Promise<VersionContent>;
}

interface BuiltVersion {
  script: ScriptRecord;
  version: VersionRecord;
  deployment?: DeploymentRecord;
}

/** Maximum number of attempts when other processes are faster. */
const ATTEMPTS = 10;

/**
 * Creates a version: tests it, stores its modules, then writes version and deployment in one transaction. Any failure
 * leaves the worker unchanged; modules without a version are swept.
 */
export function createVersionBuilder(parts: ScriptsDeps) {
  const {
    db,
    objects,
    secrets,
    live,
    targets,
    assets: assetStore,
    durableObjects,
    clock,
    ids,
    limits,
    serialize,
  } = parts;
  const tables = db.tables<ScriptsTables>();

  async function baseOf({ account, name, create }: VersionRequest, newId: string): Promise<Base> {
    const script = await findScript(tables, account, name);
    if (script === undefined) {
      if (!create) throw workerErrors.scriptMissing({ script: name });
      return { scriptId: newId, modules: [] };
    }
    const latest = script.latestVersionId === null ? undefined : await findVersion(tables, script.latestVersionId);
    return {
      scriptId: script.id,
      script,
      ...(latest && { latest }),
      modules: latest === undefined ? [] : await listModules(tables, latest.id),
    };
  }

  /** Resolves with undefined if the base has changed since. */
  function commit(
    request: VersionRequest,
    base: Base,
    version: VersionRecord,
    modules: ModuleRecord[],
    { assets, deploy, plan }: Pick<VersionContent, "assets" | "deploy"> & { plan: ObjectPlan },
  ): Promise<BuiltVersion | undefined> {
    const { account, name } = request;
    return db
      .transaction<ScriptsTables & ObjectTables, BuiltVersion | undefined>(async (tx) => {
        const current = await findScript(tx, account, name);
        if (
          current?.id !== base.script?.id ||
          current?.versionCount !== base.script?.versionCount ||
          current?.latestVersionId !== base.script?.latestVersionId ||
          // A rename has changed the bindings of the base.
          current?.revision !== base.script?.revision
        )
          return undefined;
        const before =
          current ?? (await addScript(tx, base.scriptId, { account, name, now: version.createdAt, limits }));
        const script: ScriptRecord = {
          ...before,
          ...request.settings,
          ...(plan.tag !== undefined && { migrationTag: plan.tag }),
          modifiedAt: version.createdAt,
          versionCount: version.number,
          latestVersionId: version.id,
        };
        await updateScript(tx, script);
        await insertVersion(tx, version, modules);
        await durableObjects.apply(tx, script, plan, version.createdAt);
        if (assets !== undefined) await assetStore.attach(tx, version, assets);
        if (deploy === undefined) {
          await pruneVersions(tx, script.id, script.versionCount - limits.keptVersions);
          return { script, version };
        }
        const newDeployment = await writeDeployment(
          tx,
          script,
          {
            id: ids.uuid(),
            createdAt: version.createdAt,
            author: version.author,
            annotations: deploy,
            versions: [{ versionId: version.id, percentage: 100 }],
          },
          limits,
        );
        return { ...newDeployment, version };
      })
      .catch((err: unknown) => {
        if (isUniqueViolation(err)) return undefined;
        throw err;
      });
  }

  /** Resolves with undefined if another process was faster. */
  async function attempt(
    request: VersionRequest,
    newId: string,
    writtenModules: ModuleRecord[],
  ): Promise<(BuiltVersion & { plan: ObjectPlan }) | undefined> {
    const base = await baseOf(request, newId);
    const { modules, deploy, assets, migrations, ...plannedContent } = await request.plan(base);
    const { plan, bindings } = await durableObjects.plan({
      scriptId: base.scriptId,
      account: request.account,
      script: request.name,
      tag: base.script?.migrationTag ?? "",
      bindings: plannedContent.bindings,
      migrations,
      isDeployed: deploy !== undefined,
    });
    const content = { ...plannedContent, bindings };
    const { bindsStoredSecrets = true, ...author } = request.uploader;
    if (!bindsStoredSecrets) checkStoredSecrets(content.bindings, base.latest?.bindings ?? []);
    await checkTargets(content.bindings, request, targets);
    await checkTailConsumers(tables, request, request.settings?.tailConsumers);
    const identity = { id: ids.uuid(), scriptId: base.scriptId, account: request.account, createdAt: clock.now() };
    const openedAssets = assets && (await assetStore.open({ ...identity, ...content }, assets));
    const trial = await live.startTrial(
      workerScriptOf(
        { ...identity, ...content, bindings: await withTargetIds(tables, request.account, content.bindings) },
        {
          name: request.name,
          revision: base.script?.revision ?? 0,
          modules,
          secrets,
          assets: openedAssets?.site,
          ...(plan.namespaces.length > 0 && {
            objects: { owner: base.scriptId, namespaces: plan.namespaces, isTrial: true },
          }),
        },
      ),
    );
    let isKept = false;
    try {
      checkExportedClasses(plan, trial.classes);
      const records = await storeModules(modules, [...base.modules, ...writtenModules], { objects, ids });
      writtenModules.push(
        ...records.filter(({ objectKey }) => !base.modules.some((record) => record.objectKey === objectKey)),
      );
      const version: VersionRecord = {
        ...identity,
        ...content,
        number: (base.script?.versionCount ?? 0) + 1,
        author,
        etag: etagOf(content, records, assets),
        handlers: trial.handlers,
        startupMs: trial.startupMs,
        size: records.filter(({ kind }) => kind !== "source-map").reduce((sum, { size }) => sum + size, 0),
        hasAssets: assets !== undefined,
      };
      const builtVersion = await commit(request, base, version, records, {
        ...(assets !== undefined && { assets }),
        ...(deploy !== undefined && { deploy }),
        plan,
      });
      isKept = builtVersion !== undefined;
      return builtVersion && { ...builtVersion, plan };
    } finally {
      if (isKept) trial.keep();
      else trial.drop();
    }
  }

  return async function make(request: VersionRequest): Promise<BuiltVersion> {
    return serialize(request.account, request.name, async () => {
      const newId = ids.hex();
      const writtenModules: ModuleRecord[] = [];
      for (let i = 0; i < ATTEMPTS; i++) {
        const builtVersion = await attempt(request, newId, writtenModules);
        if (builtVersion === undefined) continue;
        if (builtVersion.deployment !== undefined || request.settings?.tailConsumers !== undefined)
          await announce(builtVersion.script.id, parts);
        await durableObjects.removeDeleted(builtVersion.script.id, builtVersion.plan);
        return builtVersion;
      }
      throw workerErrors.tooManyDeploys({ limit: ATTEMPTS, script: request.name });
    });
  };
}

/** Returns an ETag that covers everything that runs, but not the annotations. */
function etagOf(
  {
    format,
    main,
    bindings,
    compatibilityDate,
    compatibilityFlags,
    limits,
  }: Omit<VersionContent, "modules" | "assets" | "deploy" | "migrations">,
  modules: ModuleRecord[],
  assets: VersionAssets | undefined,
): string {
  const runtimeContent = [
    format,
    main,
    bindings,
    compatibilityDate,
    compatibilityFlags,
    limits ?? null,
    modules.map(({ name, kind, sha256 }) => [name, kind, sha256]),
    ...(assets === undefined ? [] : [assets]),
  ];
  return createHash("sha256").update(JSON.stringify(runtimeContent)).digest("hex");
}

import type { UserError } from "../../kernel/index.ts";
import { workerErrors } from "../errors.ts";
import { resolveBindings, sealBinding } from "./bindings.ts";
import { checkBindings, checkCompatibilityDate, checkFlags, checkTexts } from "./checks.ts";
import { findDeployments } from "./deployments-table.ts";
import { readModules } from "./module-objects.ts";
import type { ScriptsDeps } from "./deps.ts";
import type { Annotations, Upload } from "./port.ts";
import type { ScriptsTables } from "./schema.ts";
import type { Binding } from "./script.ts";
import { sourcesOf } from "./upload-plan.ts";
import type { Base, VersionContent } from "./version-builder.ts";

/** Versions derived from the newest one: the same code with different bindings or settings. */

const ALL_TYPES = Object.keys({
  plain_text: true,
  json: true,
  secret_text: true,
  kv_namespace: true,
  r2_bucket: true,
  d1: true,
  queue: true,
  stream: true,
  version_metadata: true,
  ratelimit: true,
  analytics_engine: true,
  service: true,
  ai: true,
  secrets_store_secret: true,
  durable_object_namespace: true,
  send_email: true,
  assets: true,
} satisfies Record<Binding["type"], true>) as Binding["type"][];

type VersionChange = Partial<
  Pick<Upload, "bindings" | "compatibilityDate" | "compatibilityFlags" | "limits" | "keepBindings" | "annotations">
>;

export function planSettings(change: VersionChange, parts: ScriptsDeps): (base: Base) => Promise<VersionContent> {
  const { limits, clock } = parts;
  const annotations = { "workers/triggered_by": "settings", ...change.annotations };
  return async (base) => {
    const sameContent = await contentOf(base, parts);
    const givenBindings = {
      bindings: change.bindings ?? [],
      keepBindings: change.keepBindings ?? (change.bindings === undefined ? ALL_TYPES : []),
      inheritStrictly: true,
    };
    return {
      ...sameContent,
      bindings: await resolveBindings(givenBindings, sourcesOf(base, parts)),
      ...(change.compatibilityDate !== undefined && {
        compatibilityDate: checkCompatibilityDate(change.compatibilityDate, clock.now()),
      }),
      ...(change.compatibilityFlags !== undefined && {
        compatibilityFlags: checkFlags(change.compatibilityFlags, limits),
      }),
      ...(change.limits !== undefined && { limits: change.limits }),
      annotations,
      ...(await planDeployment(base, annotations, workerErrors.settingsNotDeployed, parts)),
    };
  };
}

export function planSecrets(
  changes: Record<string, string | null>,
  { deploy, annotations }: { deploy: boolean; annotations: Annotations },
  parts: ScriptsDeps,
): (base: Base) => Promise<VersionContent> {
  const { limits, secrets } = parts;
  const set = Object.entries(changes).flatMap(([name, text]): Binding[] =>
    text === null ? [] : [{ type: "secret_text", name, text }],
  );
  checkTexts(set, limits);
  return async (base) => {
    const sameContent = await contentOf(base, parts);
    const bindingsByName = new Map(sameContent.bindings.map((binding) => [binding.name, binding]));
    for (const [name, text] of Object.entries(changes)) {
      const oldBinding = bindingsByName.get(name);
      if (text === null && oldBinding?.type !== "secret_text") throw workerErrors.bindingMissing({ name });
      if (text !== null && oldBinding !== undefined && oldBinding.type !== "secret_text")
        throw workerErrors.bindingNameTaken({ name });
    }
    const bindings = [
      ...sameContent.bindings.filter(({ name }) => !Object.hasOwn(changes, name)),
      ...set.map((binding) => sealBinding(binding, base.scriptId, secrets)),
    ];
    checkBindings(bindings, limits);
    const secretAnnotations = { "workers/triggered_by": "secret", ...annotations };
    return {
      ...sameContent,
      bindings,
      annotations: secretAnnotations,
      ...(deploy && (await planDeployment(base, secretAnnotations, workerErrors.versionNotDeployed, parts))),
    };
  };
}

/** Runs for a worker that has secrets but no code yet. */
const PLACEHOLDER = `export default { fetch() { return new Response("This Worker has no code yet.\\n", { status: 404 }); } };\n`;

async function contentOf(
  { latest, modules }: Base,
  { objects, clock, assets }: ScriptsDeps,
): Promise<Omit<VersionContent, "annotations">> {
  if (latest === undefined) {
    const module = {
      name: "index.js",
      kind: "esm" as const,
      contentType: "application/javascript+module",
      content: PLACEHOLDER,
    };
    return {
      format: "modules",
      main: module.name,
      modules: [module],
      bindings: [],
      compatibilityDate: checkCompatibilityDate(undefined, clock.now()),
      compatibilityFlags: [],
    };
  }
  const { format, main, bindings, compatibilityDate, compatibilityFlags, limits } = latest;
  const keptAssets = latest.hasAssets ? await assets.findByVersion(latest.id) : undefined;
  return {
    format,
    main,
    bindings,
    compatibilityDate,
    compatibilityFlags,
    ...(limits !== undefined && { limits }),
    modules: await readModules(modules, objects),
    ...(keptAssets !== undefined && { assets: keptAssets }),
  };
}

/**
 * Code that was uploaded but not deployed must not go live because a secret or a setting changed. A worker that was
 * never deployed remains undeployed.
 */
async function planDeployment(
  { script, latest }: Base,
  annotations: Annotations,
  createError: () => UserError,
  { db }: ScriptsDeps,
): Promise<{ deploy?: Annotations }> {
  const id = script?.liveDeploymentId ?? null;
  if (id === null) return {};
  const liveDeployment = (await findDeployments(db.tables<ScriptsTables>(), [id])).get(id);
  if (liveDeployment?.versions.length !== 1 || liveDeployment.versions[0]!.versionId !== latest?.id)
    throw createError();
  return { deploy: annotations };
}

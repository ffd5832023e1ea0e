import { z } from "@hono/zod-openapi";
import type { Binding, InheritedBinding, Upload, UploadedModule, Version } from "../../../workers/index.ts";
import { readBindings } from "./bindings.ts";
import { assetFields, readAssetFields, hasAssets, separateRuleFiles } from "./asset-fields.ts";
import { workerRouteErrors } from "./errors.ts";
import { rejectUnsupported, uploadFromVersion, versionFields, versionPartOf, unsupportedFields } from "./metadata.ts";
import { readModule } from "./modules.ts";

const PART = "body";
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

export const sentModuleShape = z.object({ name: z.string(), content_type: z.string(), content_base64: z.string() });
const sentModules = z.array(sentModuleShape);
/** Bindings by name, as wrangler patches them: null removes a binding. */
const env = z.record(z.string(), z.record(z.string(), z.unknown()).nullable());

const { keep_bindings: _, ...fields } = versionFields;
export const versionRequest = z.object({
  main_module: z.string().nullish(),
  modules: sentModules.nullish(),
  env: env.nullish(),
  ...fields,
  ...unsupportedFields,
  ...assetFields,
});
export const versionPatch = versionRequest;
type VersionBody = z.infer<typeof versionRequest>;

/** Converts a JSON body to an upload. Throws workerRouteErrors. */
export function uploadOf(body: VersionBody): Upload {
  rejectUnsupported(body);
  if (!body.main_module && !hasAssets(body)) throw workerRouteErrors.mainUnnamed();
  const main = body.main_module ?? "";
  const { modules, config } = separateRuleFiles(modulesOf(body.modules ?? [], main));
  const bindings = [
    ...(body.bindings ?? []),
    ...Object.entries(body.env ?? {}).flatMap(([name, binding]) => (binding === null ? [] : [{ ...binding, name }])),
  ];
  return {
    format: "modules",
    main,
    modules,
    inheritStrictly: true,
    ...versionPartOf({ ...body, bindings }, { part: PART }),
    ...readAssetFields(body, PART, config),
  };
}

/** Returns the newest version with a merge patch applied (RFC 7396): omitted fields are kept. */
export function patchedUpload(latest: Version, modules: UploadedModule[], patch: VersionBody): Upload {
  rejectUnsupported(patch);
  const latestUpload = uploadFromVersion(latest, modules);
  const main = patch.main_module ?? latestUpload.main;
  const { compatibilityDate, compatibilityFlags, limits, annotations, migrations } = versionPartOf(
    { ...patch, bindings: [] },
    { part: PART },
  );
  return {
    ...latestUpload,
    main,
    ...(patch.modules && { format: "modules" as const, modules: modulesOf(patch.modules, main) }),
    bindings: patchedBindings(latest, latestUpload.bindings, patch),
    ...(compatibilityDate !== undefined && { compatibilityDate }),
    ...(patch.compatibility_flags !== undefined && { compatibilityFlags }),
    ...(limits !== undefined && { limits }),
    ...(annotations !== undefined && { annotations }),
    ...(migrations !== undefined && { migrations }),
    ...readAssetFields(patch, PART),
  };
}

function patchedBindings(
  { bindings: present }: Version,
  latestBindings: Upload["bindings"],
  { bindings, env = {} }: VersionBody,
): (Binding | InheritedBinding)[] {
  const base = bindings === undefined ? latestBindings : readBindings(bindings ?? [], { part: PART, present });
  const changedBindings = readBindings(
    Object.entries(env ?? {}).flatMap(([name, binding]) => (binding === null ? [] : [{ ...binding, name }])),
    { part: PART, present },
  );
  return [...base.filter(({ name }) => !Object.hasOwn(env ?? {}, name)), ...changedBindings];
}

const modulesOf = (sent: z.infer<typeof sentModules>, main: string): UploadedModule[] =>
  sent.map(({ name, content_type, content_base64 }) => {
    if (!BASE64.test(content_base64))
      throw workerRouteErrors.badModule({
        name,
        reason: "content_base64 is not base64",
        fix: "Encode the module's bytes in base64, without line breaks.",
      });
    return readModule(name, content_type, Buffer.from(content_base64, "base64"), name === main ? "esm" : undefined);
  });

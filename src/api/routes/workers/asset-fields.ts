import { z } from "@hono/zod-openapi";
import {
  ASSET_LIMITS,
  assetErrors,
  HTML_HANDLING,
  NOT_FOUND_HANDLING,
  readBasePath,
  workerFirstProblem,
  type AssetsConfig,
  type Upload,
  type UploadedModule,
} from "../../../workers/index.ts";
import { workerRouteErrors } from "./errors.ts";

/** The SDK sends booleans as strings in forms. */
const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((text) => text === "true")]);

/** Static-asset fields of an upload. */
export const assetFields = {
  assets: z
    .object({
      jwt: z.string().nullish(),
      config: z
        .object({
          html_handling: z.enum(HTML_HANDLING).nullish(),
          not_found_handling: z.enum(NOT_FOUND_HANDLING).nullish(),
          run_worker_first: z.union([flag, z.array(z.string())]).nullish(),
          serve_directly: flag.nullish(),
          base_path: z.string().nullish(),
          _headers: z.string().nullish(),
          _redirects: z.string().nullish(),
        })
        .nullish(),
    })
    .nullish(),
  keep_assets: flag.nullish(),
};
const shape = z.object(assetFields);
type AssetFields = z.output<typeof shape>;

/** True if the upload contains assets or keeps those of the newest version. */
export const hasAssets = ({ assets, keep_assets }: AssetFields): boolean =>
  typeof assets?.jwt === "string" || keep_assets === true;

/**
 * Returns the assets of a new version. `extraConfig` overrides the configuration in the fields. Throws badMetadata and
 * badConfig.
 */
export function readAssetFields(
  fields: AssetFields,
  part: string,
  extraConfig: AssetsConfig = {},
): Pick<Upload, "assets"> {
  const { assets } = fields;
  const sentConfig = assets?.config ?? undefined;
  const config =
    sentConfig === undefined && Object.keys(extraConfig).length === 0
      ? undefined
      : { ...configOf(sentConfig ?? {}), ...extraConfig };
  if (typeof assets?.jwt === "string") return { assets: { token: assets.jwt, ...(config && { config }) } };
  if (fields.keep_assets === true) return { assets: { ...(config && { config }) } };
  if (config !== undefined)
    throw workerRouteErrors.badMetadata({
      part,
      reason: "`assets` has no `jwt`",
      fix: "Send the completion token of the asset upload, or set `keep_assets`.",
    });
  return {};
}

function configOf({
  html_handling,
  not_found_handling,
  run_worker_first,
  serve_directly,
  base_path,
  _headers,
  _redirects,
}: NonNullable<NonNullable<AssetFields["assets"]>["config"]>): AssetsConfig {
  const base = typeof base_path === "string" ? readBasePath(base_path) : undefined;
  if (base !== undefined && "reason" in base)
    throw assetErrors.badConfig({ reason: `base_path: ${base.reason}`, fix: base.fix });
  if (Array.isArray(run_worker_first)) {
    const problem = workerFirstProblem(run_worker_first);
    if (problem !== undefined)
      throw assetErrors.badConfig({ reason: `run_worker_first: ${problem.reason}`, fix: problem.fix });
  }
  for (const [name, text] of Object.entries({ _headers, _redirects })) {
    const size = Buffer.byteLength(text ?? "");
    if (size > ASSET_LIMITS.ruleFileBytes)
      throw assetErrors.badConfig({
        reason: `${name} has ${size} bytes`,
        fix: `Use at most ${ASSET_LIMITS.ruleFileBytes} bytes.`,
      });
  }
  // The deprecated `serve_directly` is the inverse of `run_worker_first`.
  const first = run_worker_first ?? (typeof serve_directly === "boolean" ? !serve_directly : undefined);
  return {
    ...(html_handling && { htmlHandling: html_handling }),
    ...(not_found_handling && { notFoundHandling: not_found_handling }),
    ...(first !== undefined && { runWorkerFirst: first }),
    ...(base !== undefined && { basePath: base.basePath }),
    ...(typeof _headers === "string" && { headers: _headers }),
    ...(typeof _redirects === "string" && { redirects: _redirects }),
  };
}

const RULE_FILES = { _headers: "headers", _redirects: "redirects" } as const;

/**
 * Separates `_headers` and `_redirects`, which the JSON body of a version contains as modules, from the other modules.
 */
export function separateRuleFiles(modules: UploadedModule[]): { modules: UploadedModule[]; config: AssetsConfig } {
  const config: AssetsConfig = {};
  const rest = modules.filter(({ name, content }) => {
    if (!Object.hasOwn(RULE_FILES, name) || typeof content !== "string") return true;
    config[RULE_FILES[name as keyof typeof RULE_FILES]] = content;
    return false;
  });
  return { modules: rest, config };
}

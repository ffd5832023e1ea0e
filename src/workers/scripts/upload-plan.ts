import { supportedDate } from "../project/config/compatibility.ts";
import { resolveBindings, type BindingSources } from "./bindings.ts";
import { checkAssets, planAssets } from "./chosen-assets.ts";
import { checkCompatibilityDate, checkFlags, checkModules } from "./checks.ts";
import type { ScriptsDeps } from "./deps.ts";
import type { Annotations, Upload } from "./port.ts";
import type { ScriptsTables } from "./schema.ts";
import type { Base, VersionContent } from "./version-builder.ts";
import { findVersion } from "./versions-table.ts";

/** Sources for the bindings of a new version based on `base`. */
export function sourcesOf(
  { scriptId, latest }: Base,
  { db, secrets, limits }: Pick<ScriptsDeps, "db" | "secrets" | "limits">,
): BindingSources {
  return {
    scriptId,
    base: latest?.bindings ?? [],
    async ofVersion(id) {
      const version = await findVersion(db.tables<ScriptsTables>(), id);
      return version?.scriptId === scriptId ? version.bindings : undefined;
    },
    secrets,
    limits,
  };
}

/** Checks the upload itself once, and its references to the base whenever the base changes. */
export function planUpload(
  account: string,
  upload: Upload,
  parts: Pick<ScriptsDeps, "db" | "secrets" | "limits" | "clock" | "log" | "assets">,
  deploy: Annotations | undefined,
): (base: Base) => Promise<VersionContent> {
  const { limits, clock, log } = parts;
  checkModules(upload, limits);
  const assetsFor = planAssets(account, upload, parts.assets);
  const compatibilityDate = checkCompatibilityDate(upload.compatibilityDate, clock.now());
  const runDate = supportedDate(compatibilityDate);
  if (runDate !== compatibilityDate)
    log.warn({ compatibilityDate, runDate }, "workers: compatibility date is newer than the runtime supports");
  const { format, main, modules } = upload;
  const content = {
    format,
    main,
    modules,
    compatibilityDate,
    compatibilityFlags: checkFlags(upload.compatibilityFlags, limits),
    ...(upload.limits !== undefined && { limits: upload.limits }),
    ...(upload.migrations !== undefined && { migrations: upload.migrations }),
    annotations: { "workers/triggered_by": deploy === undefined ? "version_upload" : "upload", ...upload.annotations },
    ...(deploy !== undefined && { deploy }),
  };
  return async (base) => {
    const assets = await assetsFor(base);
    const bindings = await resolveBindings(upload, sourcesOf(base, parts));
    checkAssets({ main, bindings }, assets);
    return { ...content, bindings, ...(assets !== undefined && { assets }) };
  };
}

import { assetErrors } from "../assets/errors.ts";
import type { Assets } from "../assets/store/assets.ts";
import type { VersionAssets } from "../assets/store/version-assets-table.ts";
import { badUpload } from "./checks.ts";
import type { Upload } from "./port.ts";
import type { VersionContent } from "./version-builder.ts";
import type { VersionRecord } from "./versions-table.ts";

/**
 * Verifies the completion token, and returns a function that selects the assets for a base version. Throws
 * badCompletion.
 */
export function planAssets(
  account: string,
  { assets: selection }: Pick<Upload, "assets">,
  assets: Assets,
): (base: { latest?: VersionRecord }) => Promise<VersionAssets | undefined> {
  if (selection === undefined) return async () => undefined;
  const { token, config } = selection;
  if (token !== undefined) {
    const manifestId = assets.manifestIdOfToken(account, token);
    return async () => ({ manifestId, config: config ?? {} });
  }
  return async ({ latest }) => {
    const previousAssets = latest && (await assets.findByVersion(latest.id));
    if (previousAssets === undefined) throw assetErrors.nothingToKeep();
    return { ...previousAssets, ...(config !== undefined && { config }) };
  };
}

/** Throws badUpload if the main module, the bindings and the assets are inconsistent. */
export function checkAssets(
  { main, bindings }: Pick<VersionContent, "main" | "bindings">,
  assets: VersionAssets | undefined,
): void {
  if (assets === undefined) {
    const binding = bindings.find(({ type }) => type === "assets");
    if (binding !== undefined)
      throw badUpload(
        `it has the assets binding '${binding.name}' but no assets`,
        "Upload assets, or remove the binding.",
      );
    if (main === "") throw badUpload("it has neither a main module nor assets", "Send at least one of them.");
  } else if (main === "" && assets.config.runWorkerFirst !== undefined && assets.config.runWorkerFirst !== false) {
    throw badUpload(
      "`run_worker_first` is set without a main module",
      "Remove `run_worker_first`, or upload a main module.",
    );
  }
}

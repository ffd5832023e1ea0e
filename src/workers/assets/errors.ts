import { defineErrors } from "../../kernel/errors.ts";

/** Errors of asset uploads and of local asset directories. */
export const assetErrors = defineErrors("assets", {
  badManifest: { code: 10021, http: 400, message: "The asset manifest is invalid: {reason}.", fix: "{fix}" },
  tooManyFiles: {
    code: 100_101,
    http: 400,
    message: "The asset manifest has {count} files; at most {limit} are allowed.",
    fix: "Deploy fewer files, or exclude some in .assetsignore.",
  },
  fileTooLarge: {
    code: 100_102,
    http: 400,
    message: "The asset {path} is {size} bytes; the maximum is {limit}.",
    fix: "Shrink the file, exclude it in .assetsignore, or store it in R2.",
  },
  badUpload: { code: 100_103, http: 400, message: "The asset upload is invalid: {reason}.", fix: "{fix}" },
  badToken: {
    code: 10_000,
    http: 401,
    message: "The asset upload token is invalid or has expired.",
    fix: "Create a new upload session. Tokens are valid for one hour.",
  },
  badCompletion: {
    code: 100_104,
    http: 400,
    message: "The value of `assets.jwt` is not a completion token of this account: {reason}.",
    fix: "Upload the assets, and send the token of the last response within one hour.",
  },
  incomplete: {
    code: 100_105,
    http: 400,
    message: "{count} files of the asset manifest have not been uploaded.",
    fix: "Create a new upload session, and upload all files that it lists.",
  },
  nothingToKeep: {
    code: 100_106,
    http: 400,
    message: "`keep_assets` is set, but the newest version of the Worker has no assets.",
    fix: "Upload assets, or remove `keep_assets`.",
  },
  badConfig: { code: 10021, http: 400, message: "The asset configuration is invalid: {reason}.", fix: "{fix}" },
  folderUnreadable: {
    code: "E_ASSETS",
    http: 400,
    message: "Cannot read the assets in {folder}: {reason}.",
    fix: "Correct `assets.directory`. The path is relative to the configuration file.",
  },
  workerFile: {
    code: "E_ASSETS",
    http: 400,
    message: "The assets contain {path}, which may be private server code.",
    fix: "Remove it, or list it in .assetsignore. To upload it, create an empty .assetsignore.",
  },
});

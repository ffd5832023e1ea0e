import { defineErrors } from "../../kernel/index.ts";

export const importErrors = defineErrors("import", {
  noSourceToken: {
    code: "E_NO_SOURCE_TOKEN",
    http: 401,
    message: "No API token for the source {url}.",
    fix: "Set CLOUDFLARE_API_TOKEN, or use --from-token.",
  },
  interrupted: {
    code: "E_INTERRUPTED",
    http: 499,
    message: "The import was interrupted.",
    fix: "Run the same command again to continue: {state} records the progress.",
  },
  exportInterrupted: {
    code: "E_INTERRUPTED",
    http: 499,
    message: "The export was interrupted.",
    fix: "Run the same command again to continue.",
  },
  sameAccount: {
    code: "E_SAME_ACCOUNT",
    http: 400,
    message: "The source and the target are the same: account {account} on {url}.",
    fix: "Select the source with --from and --from-account, and the target with --url and --account.",
  },
});

export { importWranglerState } from "./import-state.ts";
export type { CopiedResource, WranglerStateImportResult } from "./port.ts";

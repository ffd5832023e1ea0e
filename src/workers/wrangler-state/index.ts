export { importWranglerState } from "./import-state.ts";
export type { CopiedResource, WranglerStateResult } from "./port.ts";

export { createObjectAlarms } from "./alarms.ts";
export { createObjectNamespaces } from "./namespaces.ts";
export { createScriptObjects } from "./script-objects.ts";
export { objectErrors } from "./errors.ts";
export { localObjectBindings, localObjects } from "./local-objects.ts";
export { objectLimits } from "./limits.ts";
export { openObjectStorage } from "./storage.ts";
export type * from "./port.ts";

export type { Caller, Permission, PermissionArea, Resource } from "./caller.ts";

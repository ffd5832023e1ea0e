export { type Bundler, type BundlerOptions, type ProjectBuild, createBundler } from "./bundle/bundler.ts";
export { NEWEST_COMPATIBILITY_DATE, hasNodeCompat, isoDate } from "./config/compatibility.ts";
export { CONFIG_NAMES } from "./config/find.ts";
export { type ReadProjectOptions, readProject } from "./config/read.ts";
export type { ModuleRule } from "./config/rules.ts";
export { projectErrors } from "./errors.ts";
export type { BuildSettings, Project, ReelpostSettings } from "./project.ts";

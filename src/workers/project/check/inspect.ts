import type { Problem } from "../../../kernel/config/index.ts";
import type { ProjectBuild } from "../bundle/bundler.ts";
import type { Project } from "../project.ts";
import type { EnvUse } from "./env-uses.ts";
import { checkTypeDefinitions } from "./type-definitions.ts";
import { findUnknownBindings, unknownBindingProblems } from "./unknown-bindings.ts";

export interface Inspection {
  /** Warnings about the configuration, the build, the bindings and the type definitions. */
  warnings: Problem[];
  /** Used by `explainException`. */
  unknownBindings: EnvUse[];
}

/**
 * Resolves with all warnings worth showing before the worker runs. `editors`: include those that help only while
 * editing code.
 */
export async function inspectProject(
  project: Project,
  build: Pick<ProjectBuild, "warnings" | "sources">,
  options: { editors?: boolean } = {},
): Promise<Inspection> {
  const { editors = true } = options;
  const [unknownBindings, types] = await Promise.all([
    findUnknownBindings(project, build.sources),
    editors ? checkTypeDefinitions(project) : [],
  ]);
  return {
    warnings: [...project.warnings, ...build.warnings, ...unknownBindingProblems(project, unknownBindings), ...types],
    unknownBindings,
  };
}

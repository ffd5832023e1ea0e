import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type ConfigDocument, type Problem, errorAt, valueAt, warningAt } from "../../../kernel/config/index.ts";
import { readBasePath } from "../../assets/base-path.ts";
import { type AssetsConfig, workerFirstProblem } from "../../assets/config.ts";
import type { Purpose } from "./bindings.ts";
import type { EnvironmentView } from "./environment.ts";
import type { EnvironmentFields } from "./schema.ts";

/** Static assets of a project. */
export interface ProjectAssets {
  /** Absolute path. */
  directory: string;
  /** Name of the binding in `env`. */
  binding: string | undefined;
  config: AssetsConfig;
}

export function readAssets({ assets }: EnvironmentFields, root: string): ProjectAssets | undefined {
  if (assets?.directory === undefined) return undefined;
  const { directory, binding, html_handling, not_found_handling, run_worker_first, base_path } = assets;
  const base = base_path === undefined ? undefined : readBasePath(base_path);
  return {
    directory: resolve(root, directory),
    binding,
    config: {
      ...(html_handling !== undefined && { htmlHandling: html_handling }),
      ...(not_found_handling !== undefined && { notFoundHandling: not_found_handling }),
      ...(run_worker_first !== undefined && { runWorkerFirst: run_worker_first }),
      ...(base !== undefined && "basePath" in base && { basePath: base.basePath }),
    },
  };
}

/** Checks `run_worker_first` and `base_path`, and fields that require `main`. */
export function checkAssetsConfig(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const path = view.pathOf("assets");
  const patterns: unknown = valueAt(document.value, [...path, "run_worker_first"]);
  const problems: Problem[] = [];
  if (Array.isArray(patterns) && patterns.every((pattern) => typeof pattern === "string")) {
    const problem = workerFirstProblem(patterns);
    if (problem !== undefined)
      problems.push(
        errorAt(
          document.locate([...path, "run_worker_first"]),
          `"assets.run_worker_first" is invalid: ${problem.reason}`,
          problem.fix,
        ),
      );
  }
  const basePath: unknown = valueAt(document.value, [...path, "base_path"]);
  const base = typeof basePath === "string" ? readBasePath(basePath) : undefined;
  if (base !== undefined && "reason" in base)
    problems.push(
      errorAt(
        document.locate([...path, "base_path"]),
        `"assets.base_path" is invalid: ${base.reason}`,
        'write it as a path such as "/docs/"',
      ),
    );
  if (view.get("main") !== undefined) return problems;
  for (const field of ["binding", "run_worker_first"]) {
    const value: unknown = valueAt(document.value, [...path, field]);
    if (value !== undefined && value !== false)
      problems.push(
        errorAt(
          document.locate([...path, field], "name"),
          `"assets.${field}" is set, but there is no "main"`,
          'remove it, or set "main" to the entry file of the worker',
        ),
      );
  }
  return problems;
}

/**
 * Requires the field, and reports a missing directory: as a warning in development, because it may be built later, and
 * as an error in a deploy.
 */
export function checkDirectory(
  document: ConfigDocument,
  view: EnvironmentView,
  { root, purpose }: { root: string; purpose: Purpose },
): Problem[] {
  const path = [...view.pathOf("assets"), "directory"];
  const directory: unknown = valueAt(document.value, path);
  if (directory === undefined && view.get("assets") !== undefined)
    return [
      errorAt(
        document.locate(view.pathOf("assets"), "name"),
        '"assets.directory" is missing',
        'add "directory": "./public"',
      ),
    ];
  if (typeof directory !== "string" || directory === "") return [];
  // The build command may create the directory.
  if (valueAt(view.get("build"), ["command"]) !== undefined) return [];
  if (statSync(resolve(root, directory), { throwIfNoEntry: false })?.isDirectory() === true) return [];
  const report = purpose === "deploy" ? errorAt : warningAt;
  return [
    report(
      document.locate(path),
      `the directory in "assets.directory" does not exist: "${directory}"`,
      "build the site first, or write the path of the directory, relative to this file",
    ),
  ];
}

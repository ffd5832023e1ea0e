import {
  type ConfigDocument,
  type Path,
  type Problem,
  errorAt,
  isEmpty,
  suggestion,
  valueAt,
  warningAt,
} from "../../../kernel/config/index.ts";
import { inherited, perEnvironment } from "./schema.ts";

/** Location of the fields of one environment in the file: at the top level, or under `env.<name>`. */
export interface EnvironmentView {
  name: string | undefined;
  /** [] or ["env", name] */
  path: Path;
  /** Returns the path of a field in this environment: its own path, or that of the top level if inherited. */
  pathOf(field: string): Path;
  /** Returns the unvalidated value at that path. */
  get(field: string): unknown;
}

export function viewEnvironment(document: ConfigDocument, name: string | undefined): EnvironmentView {
  const path: Path = name === undefined ? [] : ["env", name];
  const pathOf = (field: string): Path => {
    const ownPath = [...path, field];
    return name !== undefined && field in inherited && valueAt(document.value, ownPath) === undefined
      ? [field]
      : ownPath;
  };
  return { name, path, pathOf, get: (field) => valueAt(document.value, pathOf(field)) };
}

/** Checks that the requested environment is in the file, and warns about fields it does not inherit. */
export function checkEnvironment(document: ConfigDocument, name: string | undefined): Problem[] {
  if (name === undefined) return [];
  const names = Object.keys((valueAt(document.value, ["env"]) as object | undefined) ?? {});
  if (!names.includes(name)) {
    const fix =
      suggestion(name, names) ??
      (document.syntax === "toml" ? `add a section [env.${name}]` : `add "env": { "${name}": { … } }`);
    return [errorAt(document.locate(["env"], "name"), `there is no environment "${name}" in the configuration`, fix)];
  }
  return Object.keys(perEnvironment).flatMap((field): Problem[] => {
    const ownValue = valueAt(document.value, ["env", name, field]);
    const top = valueAt(document.value, [field]);
    if (top === undefined || ownValue !== undefined || isEmpty(top)) return [];
    const message = `"${field}" is set at the top level but not in "env.${name}", which does not inherit it`;
    return [
      warningAt(document.locate([field], "name"), message, `repeat it in "env.${name}" if the worker needs it there`),
    ];
  });
}

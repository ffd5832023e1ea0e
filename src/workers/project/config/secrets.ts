import { basename, join } from "node:path";
import {
  type ConfigDocument,
  type Problem,
  errorAt,
  fieldName,
  valueAt,
  warningAt,
} from "../../../kernel/config/index.ts";
import { bindingPlaces } from "./checks.ts";
import { type DevVar, parseDevVars } from "./dev-vars.ts";
import { dotEnvNames, expandVariables, readDotEnvFiles } from "./dot-env.ts";
import { readIfPresent, unreadableFile } from "./secret-file.ts";
import type { EnvironmentView } from "./environment.ts";

interface ReadSecrets {
  secrets: DevVar[];
  problems: Problem[];
  /** The files that were searched for. */
  files: string[];
}

type Variables = Record<string, string | undefined>;

/**
 * Reads the secrets for local development, which are stored alongside the configuration. `.dev.vars.<environment>`
 * takes precedence over `.dev.vars`; the two are never merged. Without either, `.env`, `.env.local`,
 * `.env.<environment>` and `.env.<environment>.local` are merged, where later files override earlier ones, unless
 * CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV is "false". If the configuration lists `secrets.required`, only those are read,
 * and a missing one causes a warning. For a binding in `secrets_store_secrets`, the value is read under the name of the
 * binding.
 */
export async function readSecrets(
  document: ConfigDocument,
  view: EnvironmentView,
  root: string,
  env: Variables = {},
): Promise<ReadSecrets> {
  const toRootPaths = (names: readonly string[]) => names.map((name) => join(root, name));
  const devVars = toRootPaths([...(view.name === undefined ? [] : [`.dev.vars.${view.name}`]), ".dev.vars"]);
  const hasDotEnv = env["CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV"] !== "false";
  const files = [...devVars, ...(hasDotEnv ? toRootPaths(dotEnvNames(view.name)) : [])];
  const requiredSecrets = requiredNames(view);
  const storeBindings = storeBindingNames(view);
  const finish = (vars: readonly DevVar[], problems: readonly Problem[], file: string): ReadSecrets => {
    const secrets =
      requiredSecrets === undefined
        ? [...vars]
        : vars.filter(({ name }) => requiredSecrets.includes(name) || storeBindings.includes(name));
    return {
      secrets,
      files,
      problems: [
        ...problems,
        ...findMissing(secrets, document, view, file),
        ...findMissingStoreValues(secrets, document, view, file),
      ],
    };
  };

  for (const file of devVars) {
    const text = await readIfPresent(file);
    if (text === undefined) continue;
    if (typeof text !== "string") return { secrets: [], files, problems: [unreadableFile(file, text.error)] };
    const { vars, problems } = parseDevVars(file, text);
    return finish(vars, [...problems, ...findNameClashes(vars, file, document, view)], file);
  }

  const { vars, problems } = hasDotEnv ? await readDotEnvFiles(root, view.name) : { vars: [], problems: [] };
  const includesProcessEnv =
    requiredSecrets !== undefined || env["CLOUDFLARE_INCLUDE_PROCESS_ENV"] === "true" ? env : {};
  const values = expandVariables(vars, includesProcessEnv);
  // Other tools share these files, so a variable with the name of a binding is meant for those tools.
  const bindings = new Set(
    bindingPlaces(document, view).flatMap(({ name, kind }) => (kind === "binding" ? [name] : [])),
  );
  return finish(
    values.filter(({ name }) => storeBindings.includes(name) || !bindings.has(name)),
    problems,
    devVars.at(-1)!,
  );
}

function requiredNames(view: EnvironmentView): string[] | undefined {
  const requiredSecrets = valueAt(view.get("secrets"), ["required"]);
  return Array.isArray(requiredSecrets) ? requiredSecrets.filter((name) => typeof name === "string") : undefined;
}

function findMissing(
  secrets: readonly DevVar[],
  document: ConfigDocument,
  view: EnvironmentView,
  file: string,
): Problem[] {
  const path = [...view.pathOf("secrets"), "required"];
  return (requiredNames(view) ?? []).flatMap((name, i): Problem[] => {
    if (secrets.some((secret) => secret.name === name)) return [];
    return [
      warningAt(
        document.locate([...path, i]),
        `the secret ${name} is required and has no value`,
        `add ${name}=… to ${file}`,
      ),
    ];
  });
}

/** Returns the binding names in `secrets_store_secrets`, in order; undefined for an invalid entry. */
function storeBindingNames(view: EnvironmentView): (string | undefined)[] {
  const entries: unknown = view.get("secrets_store_secrets");
  if (!Array.isArray(entries)) return [];
  return entries.map((entry: unknown) => {
    const name = valueAt(entry, ["binding"]);
    return typeof name === "string" ? name : undefined;
  });
}

function findMissingStoreValues(
  secrets: readonly DevVar[],
  document: ConfigDocument,
  view: EnvironmentView,
  file: string,
): Problem[] {
  return storeBindingNames(view).flatMap((name, i): Problem[] => {
    if (name === undefined || secrets.some((secret) => secret.name === name)) return [];
    return [
      warningAt(
        document.locate([...view.pathOf("secrets_store_secrets"), i, "binding"]),
        `env.${name}.get() fails in development: the secret has no value`,
        `add ${name}=… to ${file}`,
      ),
    ];
  });
}

/**
 * A secret may override a variable or provide the value of a Secrets Store binding; it must not hide another binding.
 */
function findNameClashes(
  secrets: readonly DevVar[],
  file: string,
  document: ConfigDocument,
  view: EnvironmentView,
): Problem[] {
  const storeBindings = storeBindingNames(view);
  const bindings = bindingPlaces(document, view).filter(
    ({ kind, name }) => kind === "binding" && !storeBindings.includes(name),
  );
  return secrets.flatMap((secret): Problem[] => {
    const binding = bindings.find(({ name }) => name === secret.name);
    if (binding === undefined) return [];
    const bindingPlace = `"${fieldName(binding.path.slice(0, -1))}" on line ${document.locate(binding.path).line} of ${basename(document.file)}`;
    return [
      errorAt(
        { file, line: secret.line, column: 1 },
        `the secret ${secret.name} has the same name as a binding, ${bindingPlace}`,
        "rename one of them",
      ),
    ];
  });
}

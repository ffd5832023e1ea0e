import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type ConfigDocument,
  type Problem,
  errorAt,
  fieldName,
  valueAt,
  warningAt,
} from "../../../kernel/config/index.ts";
import { messageOf } from "../../../kernel/errors.ts";
import { bindingPlaces } from "./checks.ts";
import { type DevVar, parseDevVars } from "./dev-vars.ts";
import type { EnvironmentView } from "./environment.ts";

interface ReadSecrets {
  secrets: DevVar[];
  problems: Problem[];
  /** The files that were searched for. */
  files: string[];
}

/**
 * Secrets for local development are stored alongside the configuration: in `.dev.vars.<environment>` if it exists,
 * otherwise in `.dev.vars`; the two are never merged. If the configuration lists `secrets.required`, only those are
 * read, and a missing one causes a warning.
 */
export async function readSecrets(document: ConfigDocument, view: EnvironmentView, root: string): Promise<ReadSecrets> {
  const files = [...(view.name === undefined ? [] : [join(root, `.dev.vars.${view.name}`)]), join(root, ".dev.vars")];
  for (const file of files) {
    const text = await readIfThere(file);
    if (text === undefined) continue;
    if (typeof text !== "string")
      return {
        secrets: [],
        files,
        problems: [errorAt({ file }, `the secrets cannot be read: ${messageOf(text.error)}`)],
      };
    const { vars, problems } = parseDevVars(file, text);
    const required = requiredNames(view);
    const secrets = required === undefined ? vars : vars.filter(({ name }) => required.includes(name));
    return {
      secrets,
      files,
      problems: [...problems, ...nameClashes(secrets, file, document, view), ...missing(secrets, document, view, file)],
    };
  }
  return { secrets: [], files, problems: missing([], document, view, files.at(-1)!) };
}

async function readIfThere(file: string): Promise<string | { error: unknown } | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : { error };
  }
}

function requiredNames(view: EnvironmentView): string[] | undefined {
  const required = valueAt(view.get("secrets"), ["required"]);
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : undefined;
}

function missing(secrets: readonly DevVar[], document: ConfigDocument, view: EnvironmentView, file: string): Problem[] {
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

/** A secret may override a variable; it must not hide a binding. */
function nameClashes(
  secrets: readonly DevVar[],
  file: string,
  document: ConfigDocument,
  view: EnvironmentView,
): Problem[] {
  const bindings = bindingPlaces(document, view).filter(({ kind }) => kind === "binding");
  return secrets.flatMap((secret): Problem[] => {
    const binding = bindings.find(({ name }) => name === secret.name);
    if (binding === undefined) return [];
    const where = `"${fieldName(binding.path.slice(0, -1))}" on line ${document.locate(binding.path).line} of ${basename(document.file)}`;
    return [
      errorAt(
        { file, line: secret.line, column: 1 },
        `the secret ${secret.name} has the same name as a binding, ${where}`,
        "rename one of them",
      ),
    ];
  });
}

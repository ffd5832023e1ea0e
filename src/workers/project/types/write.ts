import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseDocument, valueAt } from "../../../kernel/config/index.ts";
import { UserError } from "../../../kernel/errors.ts";
import { type ReadProjectOptions, readProject } from "../config/read.ts";
import type { Project } from "../project.ts";
import { TYPES_FILE, generateTypes } from "./generate.ts";

export interface WrittenTypes {
  project: Project;
  file: string;
  /** True if the file had other content before, or did not exist. */
  changed: boolean;
}

/**
 * Writes the types of a project to a file alongside its configuration; with `check`, only compares. Throws the errors
 * of `readProject`.
 */
export async function writeTypes(
  options: ReadProjectOptions,
  { check = false }: { check?: boolean } = {},
): Promise<WrittenTypes> {
  const project = await readProject(options);
  const text = generateTypes(project, await variantsOf(project, options));
  const file = join(project.root, TYPES_FILE);
  const before = await readFile(file, "utf8").catch(() => undefined);
  const changed = before !== text;
  if (changed && !check) await writeFile(file, text);
  return { project, file, changed };
}

/** The other environments of the same file; an invalid one does not block this one. */
async function variantsOf(project: Project, options: ReadProjectOptions): Promise<Project[]> {
  const document = parseDocument(project.configFile, await readFile(project.configFile, "utf8"));
  const names = Object.keys((valueAt(document.value, ["env"]) as object | undefined) ?? {}).filter(
    (name) => name !== project.environment,
  );
  const environments = project.environment === undefined ? names : [undefined, ...names];
  const { environment: _, ...rest } = options;
  const read = environments.map((environment) =>
    readProject({ ...rest, config: project.configFile, ...(environment === undefined ? {} : { environment }) }).catch(
      (thrown: unknown) => {
        if (thrown instanceof UserError) return undefined;
        throw thrown;
      },
    ),
  );
  return (await Promise.all(read)).filter((variant) => variant !== undefined);
}

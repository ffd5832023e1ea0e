import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type SourcePosition, type Problem, parseDocument, valueAt, warningAt } from "../../../kernel/config/index.ts";
import { exists } from "../config/find.ts";
import type { Project } from "../project.ts";

const PACKAGE = "@cloudflare/workers-types";
const INSTALL = `npm i -D ${PACKAGE}`;

/**
 * Checks that the types for Request, KVNamespace and the rest are available to editors and tsc: most "type errors" of a
 * new project come from a missing package or a tsconfig.json that does not list it. Skips projects in plain JavaScript.
 */
export async function checkTypeDefinitions(project: Project): Promise<Problem[]> {
  const tsconfig = project.build.tsconfig ?? join(project.root, "tsconfig.json");
  const configuredTypes = await readNamedTypes(tsconfig);
  if (configuredTypes === undefined && !/\.[cm]?tsx?$/.test(project.main)) return [];
  if (await hasRuntimeTypes(project.root)) return [];
  const hasTypesPackage = await isInstalled(project.root);
  if (configuredTypes === undefined) {
    if (hasTypesPackage) return [];
    return [
      warningAt(
        { file: project.main },
        "the runtime's type definitions are missing: editors and tsc cannot check the worker's APIs",
        INSTALL,
      ),
    ];
  }
  const generated = configuredTypes.types.find((name) => name.endsWith("worker-configuration.d.ts"));
  if (generated !== undefined) {
    const message = `the runtime's type definitions are missing: "types" names ${generated}, which does not contain them`;
    return [warningAt({ file: tsconfig }, message, "npx wrangler types")];
  }
  const problems: Problem[] = [];
  if (!hasTypesPackage)
    problems.push(
      warningAt({ file: tsconfig }, `the runtime's type definitions are missing: ${PACKAGE} is not installed`, INSTALL),
    );
  if (!configuredTypes.types.some((name) => name === PACKAGE || name.startsWith(`${PACKAGE}/`))) {
    const message = `the runtime's type definitions are not used: "types" does not include ${PACKAGE}`;
    problems.push(warningAt(configuredTypes.place, message, `add "types": ["${PACKAGE}"] to "compilerOptions"`));
  }
  return problems;
}

interface NamedTypes {
  types: string[];
  place: SourcePosition;
}

/** Resolves with `compilerOptions.types` of the file, or of a file it extends; undefined without a tsconfig. */
async function readNamedTypes(file: string, depth = 0): Promise<NamedTypes | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const document = parseDocument(file, text);
  const types = valueAt(document.value, ["compilerOptions", "types"]);
  const place = document.locate(["compilerOptions"], "name");
  if (Array.isArray(types)) return { types: types.filter((name) => typeof name === "string"), place };
  const extendsValue = valueAt(document.value, ["extends"]);
  const parents = (Array.isArray(extendsValue) ? extendsValue : [extendsValue]).filter(
    (parent): parent is string => typeof parent === "string" && /^\.{0,2}\//.test(parent),
  );
  for (const parent of depth < 8 ? parents.toReversed() : []) {
    const path = resolve(dirname(file), parent);
    const inheritedTypes = (await readNamedTypes(path, depth + 1)) ?? (await readNamedTypes(`${path}.json`, depth + 1));
    if (inheritedTypes !== undefined && inheritedTypes.types.length > 0) return { types: inheritedTypes.types, place };
  }
  return { types: [], place };
}

async function isInstalled(from: string): Promise<boolean> {
  for (let folder = from; ; folder = dirname(folder)) {
    if (await exists(join(folder, "node_modules", PACKAGE, "package.json"))) return true;
    if (folder === dirname(folder)) return false;
  }
}

/**
 * True if `wrangler types` has written the definitions of the whole runtime into the project, so that no package is
 * needed.
 */
async function hasRuntimeTypes(root: string): Promise<boolean> {
  const text = await readFile(join(root, "worker-configuration.d.ts"), "utf8").catch(() => "");
  return text.includes("interface ForwardableEmailMessage");
}

import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { parseSync } from "oxc-parser";

/**
 * Name of an import that refers to the whole module: `import * as x`, `import "./x.ts"`, `import("./x.ts")`, `export *
 * from`.
 */
export const WHOLE = "*";

export interface Import {
  /** The path of a project file, otherwise the specifier unchanged: `node:net`, `zod`. */
  from: string;
  /** The exported name, `default`, or WHOLE. */
  name: string;
  isType: boolean;
  /** For `export { name as as } from`: its name in this module; WHOLE for `export *`. */
  reexportedAs?: string;
}

export interface Module {
  /** Relative to the root, with "/". */
  path: string;
  text: string;
  imports: Import[];
  /** Names that the module itself declares. */
  exports: string[];
}

/** Reads and parses source files on demand. */
export interface Sources {
  get(path: string): Module | undefined;
}

export function createSources(root: string): Sources {
  const known = new Map<string, Module | undefined>();
  return {
    get(path) {
      if (!known.has(path)) known.set(path, readModule(root, path));
      return known.get(path);
    },
  };
}

/** Returns the TypeScript files in the folders and their subfolders. */
export const sourceFiles = (root: string, folders: string[]): string[] =>
  globSync(
    folders.map((folder) => `${folder}/**/*.{ts,tsx}`),
    { cwd: root, exclude: ["**/node_modules/**", "bench/peers/**", "test/clients/**"] },
  ).sort();

function readModule(root: string, path: string): Module | undefined {
  if (!/\.tsx?$/.test(path)) return undefined;
  let text;
  try {
    text = readFileSync(join(root, path), "utf8");
  } catch {
    return undefined;
  }
  const { module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`);
  const located = (specifier: string) => (specifier.startsWith(".") ? posix.join(dirname(path), specifier) : specifier);
  const imports: Import[] = [];
  for (const { moduleRequest, entries } of module.staticImports) {
    const from = located(moduleRequest.value);
    if (entries.length === 0) imports.push({ from, name: WHOLE, isType: false });
    for (const { importName, isType } of entries)
      imports.push({ from, name: importName.kind === "Default" ? "default" : (importName.name ?? WHOLE), isType });
  }
  const exports: string[] = [];
  for (const { moduleRequest, importName, exportName, isType } of module.staticExports.flatMap(
    ({ entries }) => entries,
  )) {
    const name = exportName.kind === "Default" ? "default" : (exportName.name ?? WHOLE);
    if (moduleRequest === null) exports.push(name);
    else
      imports.push({ from: located(moduleRequest.value), name: importName.name ?? WHOLE, isType, reexportedAs: name });
  }
  for (const { moduleRequest } of module.dynamicImports) {
    const specifier = /^"([^"]+)"$/.exec(text.slice(moduleRequest.start, moduleRequest.end))?.[1];
    // A computed specifier could refer to any module.
    imports.push({ from: specifier === undefined ? WHOLE : located(specifier), name: WHOLE, isType: false });
  }
  for (const [, specifier] of text.matchAll(/\bimport\("(\.[^"]+)"\)\./g))
    imports.push({ from: located(specifier!), name: WHOLE, isType: true });
  return { path, text, imports, exports };
}

/**
 * Returns the modules and packages that a file can run, by imported name: `import { a } from "./index.ts"` refers to
 * the module that declares `a`, not to everything exported by index.ts. Types are ignored. Modules outside the sources
 * are listed with the name: `node:net isIP`.
 */
export function findReachable(sources: Sources, entry: string): Set<string> {
  const reached = new Set<string>([entry]);
  const queue: Import[] = [];
  const enter = (path: string) => {
    if (reached.has(path)) return;
    reached.add(path);
    queue.push(...runtimeImports(sources, path));
  };
  queue.push(...runtimeImports(sources, entry));
  const followed = new Set<string>();
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { from, name } = next;
    if (followed.has(`${from} ${name}`)) continue;
    followed.add(`${from} ${name}`);
    const module = isOurs(from) ? sources.get(from) : undefined;
    if (module === undefined) {
      reached.add(`${from} ${name}`);
      continue;
    }
    const passed = module.imports.filter(({ isType, reexportedAs }) => !isType && reexportedAs !== undefined);
    const on = name === WHOLE ? passed : passed.filter((one) => leadsTo(sources, one, name));
    queue.push(...on.map((one) => (one.reexportedAs === WHOLE ? { ...one, name } : one)));
    if (name === WHOLE || on.length === 0) enter(from);
  }
  return reached;
}

function leadsTo(sources: Sources, { from, reexportedAs }: Import, name: string): boolean {
  if (reexportedAs !== WHOLE) return reexportedAs === name;
  const module = isOurs(from) ? sources.get(from) : undefined;
  return (
    module !== undefined &&
    (module.exports.includes(name) ||
      module.imports.some((one) => one.reexportedAs !== undefined && leadsTo(sources, one, name)))
  );
}

const isOurs = (from: string) => /^[\w.].*\.tsx?$/.test(from) && from.includes("/");

/** Imports, excluding re-exports. */
const runtimeImports = (sources: Sources, path: string): Import[] =>
  (sources.get(path)?.imports ?? []).filter(({ isType, reexportedAs }) => !isType && reexportedAs === undefined);

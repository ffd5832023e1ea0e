/**
 * Checks that exports are used: fails on an exported name that no other file imports, on a name re-exported by an
 * index.ts that no file outside its folder imports, on a domain from which src/server imports too many names, and on a
 * name that several files of src declare.
 */
import { join } from "node:path";
import { createSources, type Import, sourceFiles, type Sources, WHOLE } from "./imports.ts";

const ROOT = join(import.meta.dirname, "..");
const FOLDERS = ["src", "web", "test", "bench", "drills", "scripts", "examples"];
/**
 * src/server connects the domains. If it imports more names than this from one domain, it is doing that domain's work.
 */
const SERVER_NAMES = 12;

const sources = createSources(ROOT);
const files = sourceFiles(ROOT, FOLDERS);
const uses = collectUses(sources, files);
const problems = [...unusedExports(), ...wideDomains(), ...ambiguousNames()];
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;

function* unusedExports() {
  for (const path of files.filter((file) => !isEntry(file))) {
    const { exports, imports } = sources.get(path)!;
    const reexports = imports.flatMap(({ reexportedAs }) =>
      reexportedAs === undefined || reexportedAs === WHOLE ? [] : [reexportedAs],
    );
    for (const name of [...exports, ...reexports].filter((exported) => !isUsed(path, exported)))
      yield path.endsWith("/index.ts")
        ? `${path}: nothing outside the folder imports ${name}. Remove it from the index.`
        : `${path}: no other file imports ${name}. Remove the export or the declaration.`;
  }
}

function isUsed(path: string, name: string): boolean {
  const folder = path.endsWith("/index.ts") ? path.slice(0, -"index.ts".length) : undefined;
  const users = [...(uses.get(`${path} ${name}`) ?? []), ...(uses.get(`${path} ${WHOLE}`) ?? [])];
  return users.some((user) => user !== path && (folder === undefined || !user.startsWith(folder)));
}

/**
 * True for files that other programs load by name: the test helper, workers of the examples and the runtime,
 * benchmarks, drills.
 */
function isEntry(path: string): boolean {
  return /^examples\/|^src\/test-helper\/(api|client)\.ts$|^src\/workers\/runtime\/inside\/|^drills\/mutations\/|^bench\/[\w-]+\/worker\.ts$|\.(bench|drill|d)\.ts$/.test(
    path,
  );
}

function* wideDomains() {
  const names = new Map<string, Set<string>>();
  for (const path of files) {
    if (!path.startsWith("src/server/") || isTestFile(path)) continue;
    for (const { from, name } of sources.get(path)!.imports) {
      const domain = /^src\/(?!server|kernel|protocol)(\w+)\/index\.ts$/.exec(from)?.[1];
      if (domain !== undefined) names.set(domain, (names.get(domain) ?? new Set()).add(name));
    }
  }
  for (const [domain, { size }] of names)
    if (size > SERVER_NAMES)
      yield `src/server imports ${size} names from src/${domain}/index.ts; the limit is ${SERVER_NAMES}. Let the domain compose itself.`;
}

/** A reader who searches for a name must find one declaration. The test helper publishes names of its own. */
function* ambiguousNames() {
  const declared = new Map<string, string[]>();
  for (const path of files) {
    if (!path.startsWith("src/") || isTestFile(path) || isEntry(path)) continue;
    for (const name of sources.get(path)!.exports)
      if (name !== "default") declared.set(name, [...(declared.get(name) ?? []), path]);
  }
  for (const [name, paths] of declared)
    if (paths.length > 1) yield `${name} is exported by ${paths.join(" and ")}. Rename one after its subject.`;
}

function isTestFile(path: string): boolean {
  return /\.(test|testing|conformance)\.ts$/.test(path);
}

/** The files that import each name, by `path name`. */
function collectUses(from: Sources, paths: string[]): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>();
  const note = (user: string, { from: path, name }: Import) => {
    const key = `${path} ${name}`;
    all.set(key, (all.get(key) ?? new Set()).add(user));
    // A name imported through `export *` counts as a use in the module behind it.
    for (const passed of from.get(path)?.imports ?? [])
      if (passed.reexportedAs === WHOLE && name !== WHOLE) note(user, { ...passed, name });
  };
  // `export *` alone does not count as a use.
  for (const path of paths) for (const one of from.get(path)!.imports) if (one.reexportedAs !== WHOLE) note(path, one);
  return all;
}

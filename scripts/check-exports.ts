/**
 * Checks that exports are used.
 *
 *     node scripts/check-exports.ts             fails on new findings
 *     node scripts/check-exports.ts --update    removes fixed findings from check-exports.json
 *
 * A finding is an exported name that no other file imports, a name re-exported by an index.ts that no file outside its
 * folder imports, or a domain from which src/server imports too many names. check-exports.json lists the initial
 * findings. The list may only shrink.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSources, type Import, sourceFiles, type Sources, WHOLE } from "./imports.ts";

const ROOT = join(import.meta.dirname, "..");
const BASELINE = join(import.meta.dirname, "check-exports.json");
const FOLDERS = ["src", "web", "test", "bench", "drills", "scripts", "examples"];
/**
 * src/server connects the domains. If it imports more names than this from one domain, it is doing that domain's work.
 */
const SERVER_NAMES = 12;

interface Baseline {
  /** Domains with their unused exports. A file may be moved within its domain. */
  unused: Record<string, string[]>;
  /** Domains with the number of names that src/server imports from their index. */
  serverImports: Record<string, number>;
}

const sources = createSources(ROOT);
const files = sourceFiles(ROOT, FOLDERS);
const uses = collectUses(sources, files);
const unused = unusedExports();
const found: Baseline = { unused: byDomain(unused), serverImports: wideDomains() };
const allowed = JSON.parse(readFileSync(BASELINE, "utf8")) as Baseline;

if (process.argv.includes("--update")) {
  writeFileSync(BASELINE, `${JSON.stringify(shrunk(allowed, found), null, 2)}\n`);
} else {
  const problems = [...newUnused(), ...newWide(), ...outdated()];
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}

function* newUnused() {
  for (const [path, names] of unused)
    for (const name of names)
      if (!allowed.unused[domainOf(path)]?.includes(name))
        yield path.endsWith("/index.ts")
          ? `${path}: nothing outside the folder imports ${name}. Remove it from the index.`
          : `${path}: no other file imports ${name}. Remove the export or the declaration.`;
}

function* newWide() {
  for (const [domain, count] of Object.entries(found.serverImports)) {
    const most = allowed.serverImports[domain] ?? SERVER_NAMES;
    if (count > most)
      yield `src/server imports ${count} names from src/${domain}/index.ts, at most ${most} are allowed. Let the domain put its parts together.`;
  }
}

/** The list must shrink with the findings, so that a new finding cannot replace an old one. */
function* outdated() {
  const smaller = shrunk(allowed, found);
  if (JSON.stringify(smaller) !== JSON.stringify(allowed))
    yield `scripts/check-exports.json lists findings that are gone. Run: node scripts/check-exports.ts --update`;
}

function unusedExports(): [path: string, names: string[]][] {
  return files
    .filter((path) => !isEntry(path))
    .map((path) => {
      const { exports, imports } = sources.get(path)!;
      const passedOn = imports.flatMap(({ reexportedAs }) =>
        reexportedAs === undefined || reexportedAs === WHOLE ? [] : [reexportedAs],
      );
      return [path, [...exports, ...passedOn].filter((name) => !isUsed(path, name))];
    });
}

function byDomain(paths: [path: string, names: string[]][]): Record<string, string[]> {
  const domains: Record<string, string[]> = {};
  for (const [path, names] of paths)
    for (const name of names) if (!domains[domainOf(path)]?.includes(name)) (domains[domainOf(path)] ??= []).push(name);
  return Object.fromEntries(
    Object.entries(domains)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([domain, names]) => [domain, names.sort()]),
  );
}

function domainOf(path: string): string {
  return path.split("/").slice(0, 2).join("/");
}

function isUsed(path: string, name: string): boolean {
  const folder = path.endsWith("/index.ts") ? path.slice(0, -"index.ts".length) : undefined;
  const users = [...(uses.get(`${path} ${name}`) ?? []), ...(uses.get(`${path} ${WHOLE}`) ?? [])];
  return users.some((user) => user !== path && (folder === undefined || !user.startsWith(folder)));
}

/** Files that other programs load by name: workers of the examples and the runtime, benchmarks, drills. */
function isEntry(path: string): boolean {
  return /^examples\/|^src\/workers\/runtime\/inside\/|^drills\/mutations\/|^bench\/[\w-]+\/worker\.ts$|\.(bench|drill|d)\.ts$/.test(
    path,
  );
}

function wideDomains(): Record<string, number> {
  const names = new Map<string, Set<string>>();
  for (const path of files) {
    if (!path.startsWith("src/server/") || /\.(test|testing|conformance)\.ts$/.test(path)) continue;
    for (const { from, name } of sources.get(path)!.imports) {
      const domain = /^src\/(?!server|kernel|protocol)(\w+)\/index\.ts$/.exec(from)?.[1];
      if (domain !== undefined) names.set(domain, (names.get(domain) ?? new Set()).add(name));
    }
  }
  const wide = [...names].map(([domain, set]) => [domain, set.size] as const);
  return Object.fromEntries(wide.filter(([, count]) => count > SERVER_NAMES).sort());
}

/** Importing files, keyed by `path name`. */
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

function shrunk(before: Baseline, now: Baseline): Baseline {
  const left = Object.entries(before.unused)
    .map(([domain, names]) => [domain, names.filter((name) => now.unused[domain]?.includes(name))] as const)
    .filter(([, names]) => names.length > 0);
  const wide = Object.entries(before.serverImports)
    .map(([domain, count]) => [domain, Math.min(count, now.serverImports[domain] ?? 0)] as const)
    .filter(([, count]) => count > SERVER_NAMES);
  return { unused: Object.fromEntries(left), serverImports: Object.fromEntries(wide) };
}

import type { OnResolveArgs, Plugin, PluginBuild } from "esbuild";
import { createHash } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { WorkerModule } from "../../scripts/script.ts";
import { DEFAULT_RULES, type ModuleRule, globPattern, matchRules } from "../config/rules.ts";

export interface ModuleFiles {
  plugin: Plugin;
  /** Modules imported by the last build. */
  modules(): WorkerModule[];
  /** Returns the source files of these modules. */
  files(): string[];
}

type Kind = "Text" | "Data" | "CompiledWasm";

/**
 * Turns imported text, data and wasm files into separate modules named after their content. The service-worker format
 * has no imports, so text and data are inlined into the bundle instead.
 */
export function moduleFiles(rules: readonly ModuleRule[], format: "modules" | "service-worker"): ModuleFiles {
  const modules = new Map<string, WorkerModule>();
  const files = new Set<string>();
  const match = matchRules(rules);
  const filter = new RegExp(
    [...rules, ...DEFAULT_RULES]
      .filter(({ type }) => isFileType(type))
      .flatMap(({ globs }) => globs.map((glob) => globPattern(glob).source))
      .join("|"),
  );

  async function onResolve(build: PluginBuild, args: OnResolveArgs) {
    if (args.pluginData === RESOLVING || args.kind === "entry-point") return undefined;
    const rule = match(args.path);
    if (rule === undefined || !isFileType(rule.type)) return undefined;
    if (rule.removed) {
      const text = `"${args.path}" is not imported as a ${rule.type} module: "rules" in the configuration replaces the default rule for it`;
      return {
        errors: [
          { text, detail: { fix: `add "fallthrough": true to the ${rule.type} rule, or the pattern to its globs` } },
        ],
      };
    }
    const file = await locate(build, args);
    if (typeof file !== "string") return file;
    files.add(file);
    if (format === "service-worker") return inlineModule(rule.type, file);
    const module = await readModule(file, rule.type);
    modules.set(module.name, module);
    return { path: module.name, external: true };
  }

  const plugin: Plugin = {
    name: "module-files",
    setup(build) {
      build.onStart(() => {
        modules.clear();
        files.clear();
      });
      build.onResolve({ filter }, (args) => onResolve(build, args));
      build.onLoad({ filter: /.*/, namespace: "inline-text" }, async ({ path }) => ({
        contents: await readFile(path),
        loader: "text",
      }));
      build.onLoad({ filter: /.*/, namespace: "inline-data" }, async ({ path }) => ({
        contents: arrayBufferSource(await readFile(path, "base64")),
        loader: "js",
      }));
    },
  };
  return {
    plugin,
    modules: () => [...modules.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    files: () => [...files],
  };
}

const RESOLVING = Symbol("resolving");

const isFileType = (type: ModuleRule["type"]): type is Kind =>
  type === "Text" || type === "Data" || type === "CompiledWasm";

function inlineModule(type: Kind, file: string) {
  if (type !== "CompiledWasm") return { path: file, namespace: type === "Text" ? "inline-text" : "inline-data" };
  const fix = "export a default object from the main module: export default { async email(message, env, ctx) {} }";
  return { errors: [{ text: "a worker in service-worker format cannot import WebAssembly", detail: { fix } }] };
}

const arrayBufferSource = (base64: string) =>
  `module.exports = Uint8Array.from(atob("${base64}"), (char) => char.charCodeAt(0)).buffer;`;

async function locate(
  build: PluginBuild,
  { path, kind, importer, resolveDir, namespace, with: attributes }: OnResolveArgs,
) {
  const specifier = path.replace(/\?module$/, "");
  const resolved = await build.resolve(specifier, {
    kind,
    importer,
    resolveDir,
    namespace,
    with: attributes,
    pluginData: RESOLVING,
  });
  if (resolved.errors.length === 0 && resolved.path !== "") return resolved.path;
  // A package may contain a file that it does not list in its "exports"; importing it by path is common practice for
  // wasm.
  return (await resolveInPackage(specifier, resolveDir)) ?? { errors: resolved.errors, warnings: resolved.warnings };
}

async function resolveInPackage(specifier: string, from: string): Promise<string | undefined> {
  if (/^[./]/.test(specifier)) return undefined;
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, "node_modules", specifier);
    if (
      await access(file).then(
        () => true,
        () => false,
      )
    )
      return file;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Resolves with a module named `./<sha1>-<file name>`, as in a deploy with wrangler. */
async function readModule(file: string, type: Kind): Promise<WorkerModule> {
  const content = await readFile(file);
  const name = `./${createHash("sha1").update(content).digest("hex")}-${basename(file)}`;
  return moduleOf(name, type, content);
}

const KINDS: Record<ModuleRule["type"], WorkerModule["kind"]> = {
  ESModule: "esm",
  CommonJS: "cjs",
  CompiledWasm: "wasm",
  Text: "text",
  Data: "data",
};

export function moduleOf(name: string, type: ModuleRule["type"], content: Buffer): WorkerModule {
  const kind = KINDS[type];
  return {
    name,
    kind,
    content: kind === "wasm" || kind === "data" ? new Uint8Array(content) : content.toString("utf8"),
  };
}

import type { OnResolveResult, Plugin, PluginBuild } from "esbuild";
import { createRequire } from "node:module";

/** Modules missing from workerd's Node.js compatibility at a compatibility date, and how to replace them. */
interface NodePolyfillsOptions {
  compatibilityDate: string;
  compatibilityFlags: readonly string[];
  /** Names that the project replaces itself (`alias`). */
  aliased: readonly string[];
}

const REQUIRED_NAMESPACE = "required-polyfill";
const GLOBALS_MODULE = "node-globals";
const requireHere = createRequire(import.meta.url);

/**
 * Replaces Node's built-in modules that workerd does not provide at the compatibility date, and some npm packages that
 * rely on them, with those of unenv. Also defines the globals that they provide. The hosted service's preset decides
 * which, so that the bundle equals that of `wrangler deploy`. Native modules are left to `platformModules`.
 */
export function nodePolyfills({ compatibilityDate, compatibilityFlags, aliased }: NodePolyfillsOptions): Plugin {
  return {
    name: "node-polyfills",
    async setup(build) {
      const [{ defineEnv }, { getCloudflarePreset }] = await Promise.all([
        import("unenv"),
        import("@cloudflare/unenv-preset"),
      ]);
      const preset = getCloudflarePreset({ compatibilityDate, compatibilityFlags: [...compatibilityFlags] });
      const { env } = defineEnv({ presets: [preset], npmShims: true });
      const replacements = new Map(
        Object.entries(env.alias).filter(
          // unenv replaces debug with a function that logs nothing; the package itself works.
          ([name, target]) => name !== "debug" && !env.external.includes(target) && !aliased.includes(name),
        ),
      );
      replaceModules(build, replacements);
      injectGlobals(build, env.inject, env.polyfill);
    },
  };
}

function replaceModules(build: PluginBuild, replacements: ReadonlyMap<string, string>): void {
  build.onResolve({ filter: patternFor(replacements.keys()) }, ({ path, kind }): OnResolveResult => {
    const target = replacements.get(path)!;
    // Only these modules of unenv export named values and no default object that require() could return.
    if (kind === "require-call" && /^unenv\/(npm|mock)\//.test(target)) return { path, namespace: REQUIRED_NAMESPACE };
    return { path: requireHere.resolve(target) };
  });
  build.onLoad({ filter: /.*/, namespace: REQUIRED_NAMESPACE }, ({ path }) => ({
    contents: `import * as module_ from ${JSON.stringify(requireHere.resolve(replacements.get(path)!))};
const { default: exported = {}, ...named } = module_;
module.exports = Object.assign(exported, named);`,
    loader: "js",
    resolveDir: import.meta.dirname,
  }));
}

/** Injects modules that assign globals before the worker's code runs. */
function injectGlobals(
  build: PluginBuild,
  globals: Readonly<Record<string, string | readonly string[]>>,
  polyfills: readonly string[],
): void {
  const statements = Object.entries(globals).map(([name, source], index) => {
    const [from, exported] = typeof source === "string" ? [source, "default"] : [source[0]!, source[1]!];
    const path = from.startsWith("node:") ? from : requireHere.resolve(from);
    return `import { ${exported} as g${index} } from ${JSON.stringify(path)};\nglobalThis.${name} = g${index};`;
  });
  const injectedModules = [
    ...(statements.length > 0 ? [GLOBALS_MODULE] : []),
    ...polyfills.map((name) => requireHere.resolve(name)),
  ];
  build.initialOptions.inject = [...(build.initialOptions.inject ?? []), ...injectedModules];
  build.onResolve({ filter: patternFor([GLOBALS_MODULE]) }, () => ({
    path: GLOBALS_MODULE,
    namespace: GLOBALS_MODULE,
    sideEffects: true,
  }));
  build.onLoad({ filter: /.*/, namespace: GLOBALS_MODULE }, () => ({
    contents: statements.join("\n"),
    resolveDir: import.meta.dirname,
  }));
}

function patternFor(names: Iterable<string>): RegExp {
  return new RegExp(`^(${[...names].map((name) => name.replaceAll(/[/.-]/g, "\\$&")).join("|")})$`);
}

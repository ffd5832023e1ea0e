import type { OnResolveArgs, OnResolveResult, Plugin } from "esbuild";
import { builtinModules } from "node:module";
import type { WorkerScript } from "../../scripts/script.ts";

const BUILT_IN = new Set(
  builtinModules.filter((name) => !name.startsWith("_")).map((name) => name.replace(/^node:/, "")),
);

const NODE_COMPAT_FIX =
  'add "nodejs_compat" to compatibility_flags, or set compatibility_date to 2026-08-04 or later, which includes it';

export const nodeModuleFix = (specifier: string): string | undefined =>
  BUILT_IN.has(specifier.replace(/^node:/, "")) ? NODE_COMPAT_FIX : undefined;

/** Modules provided by the runtime: `cloudflare:*`, `workerd:*` and Node's. Imports of them are kept. */
export function platformModules({
  nodeCompat,
  format,
}: {
  nodeCompat: boolean;
  format: WorkerScript["format"];
}): Plugin {
  const keepImport = format === "modules" ? keepExternal : refuseStatic;
  return {
    name: "platform-modules",
    setup(build) {
      build.onResolve({ filter: /^(cloudflare|workerd):/ }, (args) => keepImport(args, args.path));
      build.onResolve({ filter: /^node:/ }, (args) => {
        const result = keepImport(args, args.path);
        if (nodeCompat) return result;
        return {
          ...result,
          warnings: [
            {
              text: `"${args.path}" is a Node.js module, but the worker runs without Node.js compatibility: it will not start`,
              detail: { fix: NODE_COMPAT_FIX },
            },
          ],
        };
      });
      const barePattern = new RegExp(`^(${[...BUILT_IN].map((name) => name.replaceAll("/", "\\/")).join("|")})$`);
      // Without Node compatibility, such a name may still be a package (events, buffer): normal resolution applies, and
      // a resolution error gets the fix above.
      build.onResolve({ filter: barePattern }, (args) =>
        nodeCompat ? keepImport(args, `node:${args.path}`) : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: REQUIRED_NAMESPACE }, ({ path }) => ({
        contents: `import it from ${JSON.stringify(path)};\nmodule.exports = it;`,
        loader: "js",
      }));
    },
  };
}

const REQUIRED_NAMESPACE = "required-platform-module";

/** An ES module cannot call require(), so a small module that uses import replaces such a call. */
const keepExternal = ({ kind }: OnResolveArgs, path: string): OnResolveResult =>
  kind === "require-call" ? { path, namespace: REQUIRED_NAMESPACE } : { path, external: true };

/**
 * Only import() calls work in a script, and they are resolved at run time. A require() call fails when it is executed,
 * which a package may handle.
 */
function refuseStatic({ kind }: OnResolveArgs, path: string): OnResolveResult {
  if (kind !== "import-statement") return { path, external: true };
  const fix = `export a default object from the main module, or import it in a listener: const module = await import("${path}")`;
  return {
    errors: [{ text: `a worker in service-worker format cannot import "${path}" at the top level`, detail: { fix } }],
  };
}

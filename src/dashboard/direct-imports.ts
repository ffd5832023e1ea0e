import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Loader, Plugin } from "esbuild";

/** Packages whose main module only re-exports other modules, with the path of that module in the package. */
const BARRELS: Record<string, string> = {
  "@mantine/core": "esm/index.mjs",
  "@mantine/hooks": "esm/index.mjs",
};
const IMPORT = /import \{([^}]*)\} from ["'](@mantine\/(?:core|hooks))["'];/g;
const LOADERS: Record<string, Loader> = { tsx: "tsx", ts: "ts", mjs: "js" };

/**
 * Imports components from their own modules. esbuild assigns all modules that any script uses through a package's main
 * module to one shared script, so that the first page would load the components of all pages.
 */
export function directImports(folder: string): Plugin {
  const require = createRequire(join(folder, "package.json"));
  const barrels = new Map<string, Promise<Map<string, Exported>>>();

  function exportsOf(name: string): Promise<Map<string, Exported>> {
    const known = barrels.get(name);
    if (known !== undefined) return known;
    // The packages do not export their package.json, but each has a main module.
    const [root] = new RegExp(`^.*node_modules/${name}/`).exec(require.resolve(name).replaceAll("\\", "/"))!;
    const reading = readBarrel(join(root, BARRELS[name]!));
    barrels.set(name, reading);
    return reading;
  }

  return {
    name: "direct-imports",
    setup({ onLoad }) {
      onLoad({ filter: /(web\/dashboard\/.*\.tsx?|node_modules\/@mantine\/.*\.mjs)$/ }, async ({ path }) => {
        const code = await readFile(path, "utf8");
        const names = [...new Set([...code.matchAll(IMPORT)].map(([, , name]) => name!))];
        if (names.length === 0) return undefined;
        const exported = new Map(await Promise.all(names.map(async (name) => [name, await exportsOf(name)] as const)));
        const contents = code.replaceAll(IMPORT, (_, list: string, name: string) =>
          rewrite(list, name, exported.get(name)!),
        );
        return { contents, loader: LOADERS[path.slice(path.lastIndexOf(".") + 1)]! };
      });
    },
  };
}

interface Exported {
  file: string;
  /** The name under which `file` exports it. */
  name: string;
}

const specifiersOf = (list: string) =>
  list
    .split(",")
    .map((specifier) => specifier.trim())
    .filter((specifier) => specifier !== "")
    .map((specifier) => {
      const [name, alias = name] = specifier.split(/\s+as\s+/);
      return { name: name!, alias: alias! };
    });

async function readBarrel(path: string): Promise<Map<string, Exported>> {
  const code = await readFile(path, "utf8");
  return new Map(
    [...code.matchAll(/(?:import|export) \{([^}]*)\} from ["'](\.[^"']+)["'];/g)].flatMap(([, list, file]) =>
      specifiersOf(list!).map(({ name, alias }) => [alias, { file: join(dirname(path), file!), name }] as const),
    ),
  );
}

function rewrite(list: string, from: string, exported: Map<string, Exported>): string {
  return specifiersOf(list)
    .filter(({ name }) => !name.startsWith("type "))
    .map(({ name, alias }) => {
      const target = exported.get(name);
      return target === undefined
        ? `import { ${name} as ${alias} } from "${from}";`
        : `import { ${target.name} as ${alias} } from ${JSON.stringify(target.file)};`;
    })
    .join("");
}

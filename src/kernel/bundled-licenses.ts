import { readFile, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";

/**
 * The licence texts of bundled packages, each under its name and version. `inputs`: paths of the bundled files, relative
 * to `folder`.
 */
export async function bundledLicenses(inputs: string[], folder: string): Promise<string> {
  const packages = new Set(inputs.flatMap((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []));
  const texts = await Promise.all(
    [...packages].sort().map(async (path) => {
      const packagePath = resolve(folder, path);
      const { name, version, license } = JSON.parse(
        await readFile(join(packagePath, "package.json"), "utf8"),
      ) as Record<string, string>;
      const file = (await readdir(packagePath)).find((one) => /^licen[cs]e/i.test(one));
      return `${name} ${version} (${license})\n\n${file === undefined ? "" : await readFile(join(packagePath, file), "utf8")}`;
    }),
  );
  return texts.join(`\n\n${"-".repeat(80)}\n\n`);
}

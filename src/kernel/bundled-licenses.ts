import { readFile, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";

/**
 * Resolves with the license texts of bundled packages, each under its name and version. `inputs`: paths of the bundled
 * files, relative to `folder`.
 */
export async function bundledLicenses(inputs: string[], folder: string): Promise<string> {
  const packages = new Set(inputs.flatMap((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []));
  const texts = await Promise.all(
    [...packages].sort().map(async (path) => {
      const packagePath = resolve(folder, path);
      const { name, version, license } = JSON.parse(
        await readFile(join(packagePath, "package.json"), "utf8"),
      ) as Record<string, string>;
      const files = await readdir(packagePath);
      const textOf = async (name: RegExp) => {
        const file = files.find((one) => name.test(one));
        return file === undefined ? "" : readFile(join(packagePath, file), "utf8");
      };
      // Without a license file, the text is the license section of the README.
      const text =
        (await textOf(/^licen[cs]e/i)) || (/^#+ *licen[cs]e[^]*/im.exec(await textOf(/^readme/i))?.[0] ?? "");
      return `${name} ${version} (${license})\n\n${text}`;
    }),
  );
  return texts.join(`\n\n${"-".repeat(80)}\n\n`);
}

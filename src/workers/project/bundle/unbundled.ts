import { readFile, readdir } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { type Problem, errorAt } from "../../../kernel/config/index.ts";
import type { WorkerModule } from "../../scripts/script.ts";
import { matchRules } from "../config/rules.ts";
import type { Project } from "../project.ts";
import { moduleOf } from "./module-files.ts";

interface Collected {
  main: string;
  modules: WorkerModule[];
  files: string[];
  problems: Problem[];
}

const MAX_FILES = 1000;

/**
 * Collects the modules for `no_bundle`: the entry unchanged, and every matching file in its folder or a subfolder.
 * Module names are paths relative to the entry's folder.
 */
export async function collectUnbundled(project: Project): Promise<Collected> {
  const folder = dirname(project.main);
  const nameOf = (file: string) => relative(folder, file).split(sep).join("/");
  const main = nameOf(project.main);
  if (!/\.[cm]?js$/.test(main)) {
    const message = `"no_bundle" is set and "main" is not JavaScript: ${main}`;
    const problem = errorAt(
      { file: project.configFile },
      message,
      'point "main" at the built .js file, or remove "no_bundle"',
    );
    return { main, modules: [], files: [project.main], problems: [problem] };
  }
  const match = matchRules(project.build.rules);
  const modules = [moduleOf(main, "ESModule", await readFile(project.main))];
  const files = [project.main];
  for await (const file of walk(folder)) {
    const rule = match(nameOf(file));
    if (file === project.main || rule === undefined || rule.removed) continue;
    if (files.length === MAX_FILES) {
      const message = `"no_bundle" found more than ${MAX_FILES} files in ${folder}`;
      return {
        main,
        modules,
        files,
        problems: [
          errorAt({ file: project.configFile }, message, 'put the built files in a separate folder, or narrow "rules"'),
        ],
      };
    }
    modules.push(moduleOf(nameOf(file), rule.type, await readFile(file)));
    files.push(file);
  }
  return { main, modules, files, problems: [] };
}

async function* walk(folder: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name === "node_modules" || entry.name.startsWith(".")) continue;
    if (entry.isDirectory()) yield* walk(join(folder, entry.name));
    else if (entry.isFile()) yield join(folder, entry.name);
  }
}

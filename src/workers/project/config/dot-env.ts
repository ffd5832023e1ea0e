import { join } from "node:path";
import type { Problem } from "../../../kernel/config/index.ts";
import { type DevVar, parseDevVars } from "./dev-vars.ts";
import { readIfPresent, unreadableFile } from "./secret-file.ts";

/** In reading order; a later file overrides an earlier one. */
export const dotEnvNames = (environment: string | undefined): string[] => [
  ".env",
  ".env.local",
  ...(environment === undefined ? [] : [`.env.${environment}`, `.env.${environment}.local`]),
];

/** Resolves with the merged variables. A malformed line is only a warning, because other tools share these files. */
export async function readDotEnvFiles(
  root: string,
  environment: string | undefined,
): Promise<{ vars: DevVar[]; problems: Problem[] }> {
  const vars = new Map<string, DevVar>();
  const problems: Problem[] = [];
  for (const name of dotEnvNames(environment)) {
    const file = join(root, name);
    const text = await readIfPresent(file);
    if (text === undefined) continue;
    if (typeof text !== "string") {
      problems.push(unreadableFile(file, text.error));
      continue;
    }
    const read = parseDevVars(file, text);
    for (const found of read.vars) vars.set(found.name, found);
    problems.push(...read.problems.map((problem): Problem => ({ ...problem, severity: "warning" })));
  }
  return { vars: [...vars.values()], problems };
}

const REFERENCE = /\\\$|\$(?:\{([A-Za-z_][\w.]*)(?::?-([^{}]*))?\}|([A-Za-z_]\w*))/g;
/** Stops circular references. */
const MAX_DEPTH = 10;

/**
 * Expands `$NAME`, `${NAME}` and `${NAME:-default}` in the values; `\$` is a literal dollar. Variables of the process
 * override those of the files, and are added to the result.
 */
export function expandVariables(
  vars: readonly DevVar[],
  processEnv: Readonly<Record<string, string | undefined>>,
): DevVar[] {
  const values = new Map(vars.map(({ name, value }) => [name, value]));
  const expand = (value: string, depth: number): string =>
    value.replaceAll(REFERENCE, (reference: string, braced?: string, fallback = "", plainName?: string) => {
      if (reference === "\\$") return "$";
      const name = braced ?? plainName!;
      const found = processEnv[name] ?? values.get(name);
      return found === undefined || found === "" ? fallback : depth >= MAX_DEPTH ? "" : expand(found, depth + 1);
    });
  const expandedVars = vars.map((found) => ({ ...found, value: processEnv[found.name] ?? expand(found.value, 0) }));
  const processVars = Object.entries(processEnv).flatMap(([name, value]): DevVar[] =>
    value === undefined || values.has(name) ? [] : [{ name, value, line: 0 }],
  );
  return [...expandedVars, ...processVars];
}

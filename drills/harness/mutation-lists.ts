import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import type { Mutation } from "../mutations/mutation.ts";

/** A mutation with its topic. */
export interface ListedMutation extends Mutation {
  /** Topic and 1-based position in its list: "store 3". */
  id: string;
}

const NO_TOPIC = new Set(["mutation.ts"]);

/** All mutations from every `<topic>.ts` in the folder; one file per topic avoids edit conflicts. */
export async function listMutations(folder: string): Promise<ListedMutation[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".ts") && !NO_TOPIC.has(file)).sort();
  const lists = await Promise.all(files.map(async (file) => {
    const { mutations } = (await import(join(folder, file))) as { mutations: Mutation[] };
    return mutations.map((mutation, i) => ({ ...mutation, id: `${file.slice(0, -".ts".length)} ${i + 1}` }));
  }));
  return lists.flat();
}

/** The mutated source, or the reason why the mutation cannot be applied. */
export function mutate(root: string, { file, from, to, test }: Mutation): { source: string } | { problem: string } {
  if (!existsSync(join(root, file))) return { problem: `${file} does not exist` };
  if (!existsSync(join(root, test))) return { problem: `the test ${test} does not exist` };
  const original = readFileSync(join(root, file), "utf8");
  const occurrences = original.split(from).length - 1;
  if (occurrences !== 1) return { problem: `"${from}" occurs ${occurrences} times in ${file}` };
  if (from === to) return { problem: "the replacement equals the text" };
  // A function, so that "$&" in a replacement stays literal.
  const source = original.replace(from, () => to);
  try {
    if (file.endsWith(".ts")) stripTypeScriptTypes(source);
  } catch (err) {
    return { problem: `${file} does not parse with the change: ${(err as Error).message.split("\n")[0]}` };
  }
  return { source };
}

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

/** Resolves with all mutations from every `<topic>.ts` in the folder; one file per topic avoids edit conflicts. */
export async function listMutations(folder: string): Promise<ListedMutation[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".ts") && !NO_TOPIC.has(file)).sort();
  const lists = await Promise.all(
    files.map(async (file) => {
      const { mutations } = (await import(join(folder, file))) as { mutations: Mutation[] };
      return mutations.map((mutation, i) => ({ ...mutation, id: `${file.slice(0, -".ts".length)} ${i + 1}` }));
    }),
  );
  return lists.flat();
}

/** Returns the mutated source, or the reason the mutation cannot be applied. */
export function mutate(root: string, { file, from, to, test }: Mutation): { source: string } | { problem: string } {
  if (!existsSync(join(root, file))) return { problem: `${file} does not exist` };
  if (!existsSync(join(root, test))) return { problem: `the test ${test} does not exist` };
  const original = readFileSync(join(root, file), "utf8");
  const found = findCode(original, from);
  if (found.length !== 1) return { problem: `"${from}" occurs ${found.length} times in ${file}` };
  if (from === to) return { problem: "the replacement equals the text" };
  const source = original.slice(0, found[0]!.start) + to + original.slice(found[0]!.end);
  try {
    if (file.endsWith(".ts")) stripTypeScriptTypes(source);
  } catch (err) {
    return { problem: `${file} does not parse with the change: ${(err as Error).message.split("\n")[0]}` };
  }
  return { source };
}

/**
 * Returns every occurrence of `code` in `source`, as offsets. Line breaks, spaces and trailing commas are ignored, so
 * that the formatter does not invalidate a mutation.
 */
function findCode(source: string, code: string): { start: number; end: number }[] {
  const haystack = withoutLayout(source);
  const needle = withoutLayout(code).text;
  const found: { start: number; end: number }[] = [];
  for (let at = haystack.text.indexOf(needle); at !== -1; at = haystack.text.indexOf(needle, at + 1))
    found.push({ start: haystack.offsets[at]!, end: haystack.offsets[at + needle.length - 1]! + 1 });
  return found;
}

/** `source` without whitespace and trailing commas, and the offset of each remaining character. */
function withoutLayout(source: string): { text: string; offsets: number[] } {
  let text = "";
  const offsets: number[] = [];
  for (const { 0: character, index } of source.matchAll(/[^\s,]|,(?!\s*[)\]}])/gs)) {
    text += character;
    offsets.push(index);
  }
  return { text, offsets };
}

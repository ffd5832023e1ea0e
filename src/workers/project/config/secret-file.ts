import { readFile } from "node:fs/promises";
import { type Problem, errorAt } from "../../../kernel/config/index.ts";
import { messageOf } from "../../../kernel/errors.ts";

/** Resolves with the text of a file, undefined if it does not exist, or the error. */
export async function readIfPresent(file: string): Promise<string | { error: unknown } | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : { error };
  }
}

export const unreadableFile = (file: string, error: unknown): Problem =>
  errorAt({ file }, `the secrets cannot be read: ${messageOf(error)}`);

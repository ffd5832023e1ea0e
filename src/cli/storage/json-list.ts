import { commandErrors } from "../errors.ts";

/** Larger lists must be split into several files. */
export const MAX_LIST_FILE = 512 * 1024 * 1024;

export const listArgument = {
  name: "file",
  summary: 'JSON file, or "-" for standard input',
  required: true,
  complete: "file",
} as const;

/** Validates a JSON list; the error specifies the first invalid entry. */
export function validateList(
  value: unknown,
  file: string,
  isGood: (entry: unknown) => boolean,
  what: string,
): unknown[] {
  if (!Array.isArray(value))
    throw commandErrors.badContent({ what: file, reason: "it is not a JSON list", fix: `Expected a list of ${what}.` });
  const invalidIndex = value.findIndex((entry) => !isGood(entry));
  if (invalidIndex >= 0)
    throw commandErrors.badContent({
      what: file,
      reason: `entry ${invalidIndex + 1} is invalid`,
      fix: `Expected a list of ${what}.`,
    });
  return value;
}

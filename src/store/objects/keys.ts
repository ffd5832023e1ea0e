import { storeErrors } from "../errors.ts";

const MAX_KEY_LENGTH = 900;
const MAX_WORD_LENGTH = 200;
const WORD = /^[A-Za-z0-9_\-+=@~][A-Za-z0-9._\-+=@~]*$/;

/** Throws StoreError badKey unless every driver can store the key. */
export function checkKey(key: string): void {
  const reason = keyProblem(key);
  if (reason) throw storeErrors.badKey({ key: JSON.stringify(key.slice(0, 120)), reason });
}

/**
 * Throws StoreError badKey unless the prefix is empty or the beginning of a valid key, with or without a final "/".
 */
export function checkPrefix(prefix: string): void {
  if (prefix !== "") checkKey(prefix.replace(/(?<=.)\/$/, ""));
}

function keyProblem(key: string): string | undefined {
  if (key === "") return "it is empty";
  if (key.length > MAX_KEY_LENGTH) return `it has ${key.length} characters, at most ${MAX_KEY_LENGTH} fit`;
  for (const word of key.split("/")) {
    if (word === "") return "it has an empty word";
    if (word.length > MAX_WORD_LENGTH)
      return `one of its words has ${word.length} characters, at most ${MAX_WORD_LENGTH} fit`;
    if (!WORD.test(word)) return "it has a word with other characters, or one that begins with a dot";
  }
  return undefined;
}

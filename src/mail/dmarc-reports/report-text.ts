const PREDEFINED_ENTITIES: Record<string, string> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&amp;": "&",
};
const MAX_TEXT_LENGTH = 200;

/**
 * Returns a reporter's text as stored and shown: one line without control characters, at most 200 characters, with
 * XML's predefined entities (XML 1.0 4.6) resolved.
 */
export const reportText = (text: string): string =>
  text
    .replace(/&(?:lt|gt|quot|apos|amp);/g, (entity) => PREDEFINED_ENTITIES[entity]!)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, MAX_TEXT_LENGTH)
    .toWellFormed();

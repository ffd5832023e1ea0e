/** Longest part of a URL in an error message. */
const MAX_SHOWN = 100;

/**
 * Finds a URL in the parts of messages that the AI server would fetch, such as `image_url`. Servers accept different
 * part types and fields, so this checks every string but texts. Text in `content` is never fetched.
 */
export function findRemoteUrl(messages: readonly unknown[]): string | undefined {
  for (const message of messages) {
    if (typeof message !== "object" || message === null) continue;
    const { content, images } = message as { content?: unknown; images?: unknown };
    const found = (typeof content === "string" ? undefined : findIn(content, "content")) ?? findIn(images, "images");
    if (found !== undefined) return found.slice(0, MAX_SHOWN);
  }
  return undefined;
}

function findIn(value: unknown, field: string): string | undefined {
  if (typeof value === "string") return isRemote(value, field) ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, each] of Object.entries(value)) {
    // The elements of a list belong to its field.
    const found = findIn(each, Array.isArray(value) ? field : name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isRemote(value: string, field: string): boolean {
  if (field === "text" || field === "type" || /^data:/i.test(value)) return false;
  // A path in a URL field may be a file of the AI server. URL parsers skip leading spaces and control characters.
  return /url$/i.test(field) || /^[\0-\x20]*(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(value);
}

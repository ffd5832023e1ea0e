/**
 * JSON text of at most `maxBytes`. The largest fields of an object, and the last items of a list, are replaced by a
 * note of their size until the rest fits. Undefined for undefined.
 */
export function boundedJson(value: unknown, maxBytes: number): string | undefined {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined || fits(text, maxBytes)) return text;
  const reduced = Array.isArray(value)
    ? firstItems(value, maxBytes)
    : typeof value === "object" && value !== null
      ? smallestFields(value as Record<string, unknown>, maxBytes)
      : undefined;
  return reduced ?? JSON.stringify(omitted(text));
}

const fits = (text: string, maxBytes: number): boolean => Buffer.byteLength(text) <= maxBytes;
const omitted = (text: string): string => `[omitted: ${Buffer.byteLength(text)} bytes]`;
/** Size of the separators and of the note that replaces omitted content. */
const NOTE_BYTES = 64;

function firstItems(list: unknown[], maxBytes: number): string {
  const items: string[] = [];
  let bytes = NOTE_BYTES;
  for (const item of list) {
    const text = JSON.stringify(item) ?? "null";
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > maxBytes) break;
    items.push(text);
  }
  return `[${[...items, JSON.stringify(`[omitted: ${list.length - items.length} items]`)].join(",")}]`;
}

function smallestFields(fields: Record<string, unknown>, maxBytes: number): string | undefined {
  const texts = new Map(
    Object.entries(fields).flatMap(([name, value]) => {
      const text = JSON.stringify(value) as string | undefined;
      return text === undefined ? [] : [[name, text] as const];
    }),
  );
  const write = () => `{${[...texts].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
  let excess = Buffer.byteLength(write()) - maxBytes;
  for (const [name, text] of [...texts].sort(([, a], [, b]) => b.length - a.length)) {
    if (excess <= 0) break;
    const note = JSON.stringify(omitted(text));
    excess -= Buffer.byteLength(text) - Buffer.byteLength(note);
    texts.set(name, note);
  }
  const reduced = write();
  return fits(reduced, maxBytes) ? reduced : undefined;
}

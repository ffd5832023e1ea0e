/**
 * Terminal control characters (C0 and C1: U+009B starts a command just as ESC does) and bidirectional controls (UAX
 * #9): a sender must not be able to fake another log line.
 */
const CONTROL_RANGES = "\\0-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069";
const ODD_CHARACTERS = new RegExp(`[${CONTROL_RANGES}\\ud800-\\udfff]`);
const CONTROLS = new RegExp(`[${CONTROL_RANGES}]+`, "g");

/**
 * Cleans untrusted text for the database and the terminal: removes U+0000, lone surrogates and line endings, and
 * truncates to `maxLength`.
 */
export function cleanText(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
  return ODD_CHARACTERS.test(cut) ? cut.toWellFormed().replace(CONTROLS, " ") : cut;
}

/** Fields that are stored in columns of the entry, or are too large to keep. */
const OMITTED_FIELDS = new Set(["details", "account", "zone", "subject", "size", "parts", "transcript"]);
/** Fields that are the same for every copy of the message and are stored in its entry. */
const OMITTED_ON_RECEIPT = new Set(["from", "to", "messageId", "headerId"]);
const MAX_FIELDS = 20;
const MAX_LIST = 10;

/** Returns the details of a step, reduced to a size that can be kept for every message. */
export function cleanDetail(step: string, detail: Record<string, unknown>): Record<string, unknown> {
  const keptDetail: Record<string, unknown> = {};
  let fields = 0;
  for (const name in detail) {
    if (OMITTED_FIELDS.has(name) || (step === "received" && OMITTED_ON_RECEIPT.has(name)) || fields === MAX_FIELDS)
      continue;
    const value = cleanValue(detail[name], 2);
    if (value === undefined) continue;
    keptDetail[name] = value;
    fields++;
  }
  return keptDetail;
}

function cleanValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cleanText(value, 500);
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object" || value === null || depth === 0) return undefined;
  if (Array.isArray(value))
    return value
      .slice(0, MAX_LIST)
      .map((item) => cleanValue(item, depth - 1))
      .filter((item) => item !== undefined);
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_LIST)
      .map(([name, item]) => [name, cleanValue(item, depth - 1)])
      .filter(([, item]) => item !== undefined),
  );
}

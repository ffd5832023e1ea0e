/**
 * What a terminal obeys (C0 and C1: U+009B begins a command as well as ESC does), and what turns the text around it (UAX #9): one sender must
 * not write what looks like the line of another.
 */
const CONTROL = "\\0-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069";
const ODD = new RegExp(`[${CONTROL}\\ud800-\\udfff]`);
const CONTROLS = new RegExp(`[${CONTROL}]+`, "g");

/** Text of a stranger as the database and the terminal take it: no U+0000, no half surrogates, no line ends, and no longer than `most`. */
export function cleanText(text: string, most: number): string {
  const cut = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  return ODD.test(cut) ? cut.toWellFormed().replace(CONTROLS, " ") : cut;
}

/** What the entry has in fields of its own, or what is too big to keep. */
const LEFT_OUT = new Set(["details", "account", "zone", "subject", "size", "parts"]);
/** What is the same for every copy of the message, and stands in its entry. */
const LEFT_OUT_AT_FIRST = new Set(["from", "to", "messageId", "headerId"]);
const MAX_FIELDS = 20;
const MAX_LIST = 10;

/** The detail of a step, small enough to be kept for every message. */
export function cleanDetail(step: string, detail: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  let fields = 0;
  for (const name in detail) {
    if (LEFT_OUT.has(name) || (step === "received" && LEFT_OUT_AT_FIRST.has(name)) || fields === MAX_FIELDS) continue;
    const value = cleanValue(detail[name], 2);
    if (value === undefined) continue;
    kept[name] = value;
    fields++;
  }
  return kept;
}

function cleanValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cleanText(value, 500);
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object" || value === null || depth === 0) return undefined;
  if (Array.isArray(value))
    return value
      .slice(0, MAX_LIST)
      .map((one) => cleanValue(one, depth - 1))
      .filter((one) => one !== undefined);
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_LIST)
      .map(([name, one]) => [name, cleanValue(one, depth - 1)])
      .filter(([, one]) => one !== undefined),
  );
}

import { mailErrors } from "../errors.ts";
import { INBOX_KINDS, INBOX_STATUSES, type InboxKind, type InboxStatus } from "./kinds.ts";

/** One condition of a search. Texts are in lower case. */
export type InboxTerm = { not?: true } & (
  | { field: "text" | "from" | "to" | "subject" | "message_id"; contains: string }
  | { field: "worker" | "parent"; is: string }
  | { field: "kind"; is: InboxKind }
  | { field: "status"; is: InboxStatus }
  | { field: "attachment" | "read" }
  /** Epoch milliseconds. */
  | { field: "before" | "after"; at: number }
);

/** All terms must match. */
export type InboxSearch = readonly InboxTerm[];

const MAX_LENGTH = 1000;
const MAX_TERMS = 20;

/** `-`, a name with a colon, and a phrase in quotes or a word without spaces; each is optional. */
const TERM = /(-?)(?:([a-z][a-z-]*):)?(?:"([^"]*)"?|(\S*))/iy;
const NAMES = new Set([
  "from",
  "to",
  "subject",
  "message-id",
  "worker",
  "cause",
  "kind",
  "status",
  "has",
  "is",
  "before",
  "after",
]);

/**
 * Parses a search: words and "phrases" (in the addresses, the subject and the text), `from:`, `to:`, `subject:`,
 * `message-id:`, `worker:`, `cause:` (id of the received message), `kind:`, `status:`, `has:attachment`, `is:read`,
 * `is:unread`, `before:` and `after:` with a date (UTC) or an ISO 8601 time. A leading `-` negates. Throws
 * inboxSearchInvalid.
 */
export function parseInboxSearch(query: string): InboxTerm[] {
  if (query.length > MAX_LENGTH) throw invalid(`it is longer than ${MAX_LENGTH} characters`);
  const terms: InboxTerm[] = [];
  let at = 0;
  for (;;) {
    while (at < query.length && /\s/.test(query[at]!)) at++;
    if (at >= query.length) return terms;
    TERM.lastIndex = at;
    const [whole, minus, name, phrase, word = ""] = TERM.exec(query)!;
    at += Math.max(1, whole.length);
    const isKnown = name !== undefined && NAMES.has(name.toLowerCase());
    // `https://example.com` is a word: only known names are operators.
    const value = phrase ?? word;
    const term = isKnown
      ? namedTerm(name.toLowerCase(), value)
      : textTerm(name === undefined ? value : `${name}:${value}`);
    if (term === undefined) continue;
    const { not: isNegated = false, ...positive } = term;
    terms.push(isNegated === (minus === "-") ? positive : { ...positive, not: true });
    if (terms.length > MAX_TERMS) throw invalid(`it has more than ${MAX_TERMS} terms`);
  }
}

const textTerm = (text: string): InboxTerm | undefined =>
  text === "" ? undefined : { field: "text", contains: text.toLowerCase() };

function namedTerm(name: string, value: string): InboxTerm {
  if (value === "") throw invalid(`${name}: needs a value`);
  switch (name) {
    case "from":
    case "to":
    case "subject":
      return { field: name, contains: value.toLowerCase() };
    case "message-id":
      return { field: "message_id", contains: value.toLowerCase() };
    case "worker":
      return { field: "worker", is: value };
    case "cause":
      return { field: "parent", is: value };
    case "kind":
      return { field: "kind", is: oneOf(name, value, INBOX_KINDS) };
    case "status":
      return { field: "status", is: oneOf(name, value, INBOX_STATUSES) };
    case "has":
      oneOf(name, value.replace(/s$/, ""), ["attachment"] as const);
      return { field: "attachment" };
    case "is":
      return oneOf(name, value, ["read", "unread"] as const) === "read"
        ? { field: "read" }
        : { field: "read", not: true };
    default:
      return { field: name as "before" | "after", at: timeOf(name, value) };
  }
}

function oneOf<Value extends string>(name: string, value: string, values: readonly Value[]): Value {
  const match = values.find((candidate) => candidate === value.toLowerCase());
  if (match === undefined) throw invalid(`${name}:${value.slice(0, 50)} is not one of ${values.join(", ")}`);
  return match;
}

function timeOf(name: string, value: string): number {
  const at = /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) throw invalid(`${name}:${value.slice(0, 50)} is not a date such as 2026-05-31`);
  return at;
}

const invalid = (reason: string) => mailErrors.inboxSearchInvalid({ reason });

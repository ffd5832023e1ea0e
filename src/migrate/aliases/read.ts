import { readCsv } from "./csv.ts";

export const ALIAS_FORMATS = ["postfix", "forwardemail", "addy", "mailcow"] as const;
export type AliasFormat = (typeof ALIAS_FORMATS)[number];

/** One entry of an alias table. */
export interface Alias {
  line: number;
  /** `catch-all`: the value is a domain. `regex`: the value is a regular expression for the whole address. */
  type: "literal" | "regex" | "catch-all";
  value: string;
  destinations: string[];
  enabled: boolean;
  name: string;
}

export interface AliasTable {
  aliases: Alias[];
  /** Entries that cannot be imported. */
  problems: { line: number; text: string; reason: string }[];
}

/**
 * Reads an alias table: a Postfix map, or a CSV export. `domain` completes addresses without one. The format selects
 * the names of CSV columns; files that are not CSV are read as Postfix maps.
 */
export function readAliases(text: string, { format, domain }: { format: AliasFormat; domain?: string }): AliasTable {
  const table: AliasTable = { aliases: [], problems: [] };
  const entries = format === "postfix" || !looksLikeCsv(text) ? mapEntries(text) : csvEntries(text, format);
  for (const entry of entries) {
    const alias = aliasOf(entry, domain);
    if (typeof alias === "string")
      table.problems.push({ line: entry.line, text: entry.key.slice(0, 200), reason: alias });
    else table.aliases.push(alias);
  }
  return table;
}

interface Entry {
  line: number;
  key: string;
  destinations: string[];
  enabled: boolean;
  name: string;
}

const looksLikeCsv = (text: string) => /[,;\t]/.test(text.trimStart().split("\n")[0] ?? "");

/** Names of columns in the exports, in order of preference. */
const COLUMNS: Record<
  Exclude<AliasFormat, "postfix">,
  { address: string[]; destinations: string[]; enabled: string[] }
> = {
  forwardemail: { address: ["alias", "name"], destinations: ["recipients"], enabled: ["is_enabled", "enabled"] },
  addy: { address: ["email", "alias"], destinations: ["recipients"], enabled: ["active"] },
  mailcow: { address: ["address", "alias"], destinations: ["goto", "target"], enabled: ["active"] },
};
const NO = new Set(["0", "false", "no", "inactive", "disabled"]);

function csvEntries(text: string, format: Exclude<AliasFormat, "postfix">): Entry[] {
  const columns = COLUMNS[format];
  return readCsv(text).map(({ line, fields }) => {
    const pick = (names: string[]) => names.map((name) => fields[name]).find((value) => value !== undefined) ?? "";
    return {
      line,
      key: withDomain(pick(columns.address), fields["domain"] ?? ""),
      destinations: listOf(pick(columns.destinations)),
      enabled: !NO.has(pick(columns.enabled).toLowerCase()),
      name: pick(["description", "public_comment"]),
    };
  });
}

const withDomain = (address: string, domain: string) =>
  address === "" || address.includes("@") || domain === "" ? address : `${address}@${domain}`;

const listOf = (text: string) =>
  text
    .split(/[\s,;]+/)
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** postmap(1) and regexp_table(5): a line that starts with white space continues the one before. */
function mapEntries(text: string): Entry[] {
  const lines: { line: number; text: string }[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    if (/^\s/.test(line) && lines.length > 0) lines.at(-1)!.text += ` ${line.trim()}`;
    else lines.push({ line: index + 1, text: line.trimEnd() });
  }
  return lines.map(({ line, text: entry }) => {
    const pattern = /^(\/(?:[^/\\]|\\.)*\/[a-zA-Z]*)\s+(.*)$/.exec(entry);
    const [, key = entry, value = ""] = pattern ?? /^([^\s:]+):?\s+(.*)$/.exec(entry) ?? [];
    return { line, key, destinations: listOf(value), enabled: true, name: "" };
  });
}

/** Returns the alias, or why it cannot be imported. */
function aliasOf({ key, destinations, ...entry }: Entry, domain: string | undefined): Alias | string {
  const plain = destinations.map((destination) => destination.replace(/^mailto:/, ""));
  const bad = plain.find((destination) => !/^[^@\s$|/:"]+@[^@\s$|/:"]+$/.test(destination));
  if (plain.length === 0) return "it has no destination";
  if (bad !== undefined)
    return bad.includes("$")
      ? `its destination ${bad} refers to parts of the matched address, which rules do not support`
      : `its destination ${bad} is not an email address`;
  const pattern = /^\/(.*)\/([a-zA-Z]*)$/s.exec(key);
  if (pattern !== null) return regexAlias(pattern, { ...entry, destinations: plain });
  const address = withDomain(key, domain ?? "");
  if (address.startsWith("@") || address.startsWith("*@"))
    return { ...entry, type: "catch-all", value: address.replace(/^\*?@/, "").toLowerCase(), destinations: plain };
  if (address === "") return "it has no address";
  if (!address.includes("@")) return "its address has no domain; set --domain";
  return { ...entry, type: "literal", value: address.toLowerCase(), destinations: plain };
}

/** A Postfix expression matches any part of the address; the expression of a rule matches the whole address. */
function regexAlias([, expression, flags]: RegExpExecArray, entry: Omit<Alias, "type" | "value">): Alias | string {
  if (flags !== "" && flags !== "i") return `the flags ${flags} of its regular expression are not supported`;
  const body = expression!.replaceAll("\\/", "/");
  return { ...entry, type: "regex", value: /^\^[^|]*\$$/.test(body) ? body : `.*(?:${body}).*` };
}

/** Returns the domain that an alias belongs to; undefined for an expression that does not end in one. */
export function domainOfAlias({ type, value }: Alias): string | undefined {
  if (type === "catch-all") return value;
  if (type === "literal") return value.slice(value.lastIndexOf("@") + 1);
  return /@((?:[a-z0-9-]+\\?\.)+[a-z0-9-]+)\$?(?:\)\.\*)?$/i.exec(value)?.[1]?.replaceAll("\\", "").toLowerCase();
}

import { isIP } from "node:net";
import { isSpf } from "../routing/spf.ts";

export type SpfProblemCode =
  | "lookup_failed"
  | "spf_not_found"
  | "invalid_spf"
  | "invalid_domain"
  | "loop_detected"
  | "invalid_mechanism"
  | "resource_limit_exceeded"
  | "max_lookups";

export interface SpfProblem {
  code: SpfProblemCode;
  domain: string;
  message: string;
  details?: string;
}

export type SpfQualifier = "pass" | "neutral" | "fail" | "soft_fail";
export type SpfTermType = "ALL" | "A" | "MX" | "IP4" | "IP6" | "EXISTS" | "INCLUDE" | "PTR" | "REDIRECT";

export interface SpfTerm {
  type: SpfTermType;
  /** As in the record, with its qualifier; of IP4 and IP6 the address alone. */
  value: string;
  result: SpfQualifier;
  /** Lookups of the term itself (RFC 7208 4.6.4). */
  lookups: number;
  nested?: SpfTree;
}

export interface SpfTree {
  domain: string;
  record: string;
  /** With everything it includes. */
  lookups: number;
  terms: SpfTerm[];
}

export interface SpfInspection extends SpfTree {
  /** Of the whole tree. */
  problems: SpfProblem[];
}

/** RFC 7208 4.6.4. */
const MAX_LOOKUPS = 10;
/** A record within a record. */
const MAX_DEPTH = 12;
/** Questions of one inspection: beyond the ten, people still want to see what is wrong. */
const MAX_QUESTIONS = 40;
const QUALIFIERS: Record<string, SpfQualifier> = { "+": "pass", "?": "neutral", "-": "fail", "~": "soft_fail" };
const MECHANISM = /^([+?~-]?)(all|include|a|mx|ptr|ip4|ip6|exists)(?:([:/])(.*))?$/i;
const NEEDS_VALUE = new Set(["include", "ip4", "ip6", "exists"]);

/** What an SPF record says, with all that it includes. `resolveTxt` rejects with `code` ENOTFOUND or ENODATA where there is nothing. */
export async function inspectSpf(
  domain: string,
  record: string,
  resolveTxt: (name: string) => Promise<string[][]>,
): Promise<SpfInspection> {
  const problems: SpfProblem[] = [];
  let questions = 0;

  async function nestedOf(name: string, path: readonly string[]): Promise<SpfTree | undefined> {
    const problem = (code: SpfProblemCode, message: string, details?: string) =>
      void problems.push({ code, domain: name, message, ...(details !== undefined && { details }) });
    // What depends on the sender or the client (RFC 7208 7) cannot be looked up ahead.
    if (name.includes("%")) return undefined;
    if (!/^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}$/i.test(name))
      return problem("invalid_domain", "The name is no domain", name);
    if (path.includes(name)) return problem("loop_detected", "The record includes itself", name);
    if (path.length > MAX_DEPTH || ++questions > MAX_QUESTIONS)
      return problem("resource_limit_exceeded", "Too many records within records");
    let found: string[];
    try {
      found = (await resolveTxt(name)).map((strings) => strings.join("")).filter(isSpf);
    } catch (err) {
      const { code = "" } = err as { code?: string };
      if (code !== "ENOTFOUND" && code !== "ENODATA")
        return problem("lookup_failed", `The TXT records could not be looked up (${code})`);
      found = [];
    }
    if (found.length === 0) return problem("spf_not_found", "There is no SPF record");
    // RFC 7208 4.5: with two the result is permerror.
    if (found.length > 1)
      return problem("invalid_spf", "There are several SPF records", found.join(" | ").slice(0, 500));
    return treeOf(name, found[0]!, path);
  }

  async function treeOf(name: string, text: string, path: readonly string[]): Promise<SpfTree> {
    const tree: SpfTree = { domain: name, record: text, lookups: 0, terms: [] };
    if (!isSpf(text))
      problems.push({ code: "invalid_spf", domain: name, message: "The record does not begin with v=spf1" });
    const words = text
      .split(/ +/)
      .slice(1)
      .filter((word) => word !== "");
    for (const word of words) {
      const term = termOf(word);
      if (term === undefined)
        problems.push({
          code: "invalid_mechanism",
          domain: name,
          message: "The term cannot be understood, and makes the whole record fail",
          details: word.slice(0, 200),
        });
      if (term === undefined || term === "modifier") continue;
      const { target, ...shown } = term;
      const nested =
        target === undefined ? undefined : await nestedOf(target.toLowerCase().replace(/\.$/, ""), [...path, name]);
      tree.terms.push({ ...shown, ...(nested && { nested }) });
      tree.lookups += term.lookups + (nested?.lookups ?? 0);
    }
    return tree;
  }

  const tree = await treeOf(domain, record, []);
  if (tree.lookups > MAX_LOOKUPS)
    problems.push({
      code: "max_lookups",
      domain,
      message: `${tree.lookups} lookups are needed, and RFC 7208 4.6.4 allows ${MAX_LOOKUPS}: the record fails for every receiver`,
    });
  return { ...tree, problems };
}

/** "modifier": one that nobody has to understand (RFC 7208 6). */
function termOf(word: string): (SpfTerm & { target?: string }) | "modifier" | undefined {
  const [, modifier, target] = /^([a-z][a-z0-9_.-]*)=(.*)$/i.exec(word) ?? [];
  if (modifier?.toLowerCase() === "redirect")
    return target === "" ? undefined : { type: "REDIRECT", value: word, result: "pass", lookups: 1, target: target! };
  if (modifier !== undefined) return "modifier";
  const [, qualifier = "", mechanism, sign, rest = ""] = MECHANISM.exec(word) ?? [];
  if (mechanism === undefined) return undefined;
  const name = mechanism.toLowerCase();
  if ((sign === undefined || sign === "/" || rest === "") && NEEDS_VALUE.has(name)) return undefined;
  if (name === "all" && sign !== undefined) return undefined;
  const type = name.toUpperCase() as SpfTermType;
  const result = QUALIFIERS[qualifier === "" ? "+" : qualifier]!;
  if (name === "ip4" || name === "ip6")
    return isNetwork(rest, name) ? { type, value: `${qualifier}${rest}`, result, lookups: 0 } : undefined;
  return { type, value: word, result, lookups: name === "all" ? 0 : 1, ...(name === "include" && { target: rest }) };
}

function isNetwork(text: string, family: "ip4" | "ip6"): boolean {
  const [address, length, ...more] = text.split("/");
  const [version, bits] = family === "ip4" ? [4, 32] : [6, 128];
  return (
    more.length === 0 &&
    isIP(address!) === version &&
    (length === undefined || (/^(0|[1-9]\d{0,2})$/.test(length) && Number(length) <= bits))
  );
}

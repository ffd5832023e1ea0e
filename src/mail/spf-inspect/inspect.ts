import { isSpf, MAX_SPF_LOOKUPS, parseSpfTerm, spfTerms, type ParsedSpfTerm } from "../../protocol/spf/index.ts";

type SpfProblemCode =
  | "lookup_failed"
  | "spf_not_found"
  | "invalid_spf"
  | "invalid_domain"
  | "loop_detected"
  | "invalid_mechanism"
  | "resource_limit_exceeded"
  | "max_lookups";

interface SpfProblem {
  code: SpfProblemCode;
  domain: string;
  message: string;
  details?: string;
}

interface SpfTerm extends Omit<ParsedSpfTerm, "target"> {
  nested?: SpfTree;
}

export interface SpfTree {
  domain: string;
  record: string;
  /** Number of DNS lookups, including those of nested records. */
  lookups: number;
  terms: SpfTerm[];
}

export interface SpfInspection extends SpfTree {
  /** Problems in the whole tree. */
  problems: SpfProblem[];
}

/** Maximum nesting depth. */
const MAX_DEPTH = 12;
/** Maximum number of DNS queries per inspection: users also want to see problems beyond the limit of ten. */
const MAX_QUERIES = 40;

/**
 * Inspects the content of an SPF record, with everything it includes. `resolveTxt` rejects with `code` ENOTFOUND or
 * ENODATA for a missing record.
 */
export async function inspectSpf(
  domain: string,
  record: string,
  resolveTxt: (name: string) => Promise<string[][]>,
): Promise<SpfInspection> {
  const problems: SpfProblem[] = [];
  let queryCount = 0;

  async function nestedOf(name: string, path: readonly string[]): Promise<SpfTree | undefined> {
    const addProblem = (code: SpfProblemCode, message: string, details?: string) =>
      void problems.push({ code, domain: name, message, ...(details !== undefined && { details }) });
    // Macros that depend on the sender or the client (RFC 7208 7) cannot be resolved in advance.
    if (name.includes("%")) return undefined;
    if (!/^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}$/i.test(name))
      return addProblem("invalid_domain", "The name is not a valid domain", name);
    if (path.includes(name)) return addProblem("loop_detected", "The record includes itself", name);
    if (path.length > MAX_DEPTH || ++queryCount > MAX_QUERIES)
      return addProblem("resource_limit_exceeded", "Too many nested records");
    let spfTexts: string[];
    try {
      spfTexts = (await resolveTxt(name)).map((strings) => strings.join("")).filter(isSpf);
    } catch (err) {
      const { code = "" } = err as { code?: string };
      if (code !== "ENOTFOUND" && code !== "ENODATA")
        return addProblem("lookup_failed", `The lookup of the TXT records failed (${code})`);
      spfTexts = [];
    }
    if (spfTexts.length === 0) return addProblem("spf_not_found", "The domain has no SPF record");
    // RFC 7208 4.5: two records cause permerror.
    if (spfTexts.length > 1)
      return addProblem("invalid_spf", "There are multiple SPF records", spfTexts.join(" | ").slice(0, 500));
    return treeOf(name, spfTexts[0]!, path);
  }

  async function treeOf(name: string, text: string, path: readonly string[]): Promise<SpfTree> {
    const tree: SpfTree = { domain: name, record: text, lookups: 0, terms: [] };
    if (!isSpf(text))
      problems.push({ code: "invalid_spf", domain: name, message: "The record does not begin with v=spf1" });
    for (const word of spfTerms(text)) {
      const term = parseSpfTerm(word);
      if (term === undefined)
        problems.push({
          code: "invalid_mechanism",
          domain: name,
          message: "The term is invalid: receivers treat the whole record as a permanent error",
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
  if (tree.lookups > MAX_SPF_LOOKUPS)
    problems.push({
      code: "max_lookups",
      domain,
      message: `The record requires ${tree.lookups} DNS lookups, more than the ${MAX_SPF_LOOKUPS} that RFC 7208 4.6.4 allows: every receiver treats this as a permanent error`,
    });
  return { ...tree, problems };
}

import { RE2JS } from "re2js";
import { isWithin } from "../../protocol/dns/index.ts";
import { routingErrors } from "./errors.ts";
import type { Matcher, PatternMatcher } from "./types.ts";

export const isPattern = (matcher: Matcher): matcher is PatternMatcher =>
  matcher.type === "glob" || matcher.type === "regex";

/** Maximum number of pattern rules per zone: every recipient without a literal rule is compared with each. */
export const MAX_PATTERNS = 20;
/**
 * Maximum number of instructions in a compiled pattern. RE2 matches in time proportional to the number of instructions
 * times the address length.
 */
const MAX_PROGRAM_SIZE = 500;

/**
 * Compiles a pattern to a matcher for addresses in `recipientKey` form. Throws UserError invalidInput for an invalid
 * pattern.
 */
export function compilePattern({ type, value }: PatternMatcher, zone: string): (address: string) => boolean {
  const source = type === "glob" ? globSource(value, zone) : value;
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE);
  } catch (err) {
    throw invalidPattern(
      `${JSON.stringify(value)} is not a regular expression in RE2 syntax: ${err instanceof Error ? err.message : String(err)}.`,
    );
  }
  if (compiled.programSize() > MAX_PROGRAM_SIZE)
    throw invalidPattern(`${JSON.stringify(value)} is too complex. Use fewer or smaller repetitions.`);
  return (address) => compiled.matches(address);
}

function globSource(glob: string, zone: string): string {
  const at = glob.lastIndexOf("@");
  const [local, domain] = [glob.slice(0, Math.max(0, at)), glob.slice(at + 1).toLowerCase()];
  if (local === "" || /[*?]/.test(domain))
    throw invalidPattern(`A glob is an address with * and ? in the local part only, such as sales-*@${zone}.`);
  if (local === "*") throw invalidPattern(`${glob} matches all recipients: use the catch-all rule.`);
  if (!isWithin(domain, zone)) throw invalidPattern(`${glob} is not in the zone ${zone}.`);
  return `${[...local].map((character) => (character === "*" ? "[^@]*" : character === "?" ? "[^@]" : RE2JS.quote(character))).join("")}@${RE2JS.quote(domain)}`;
}

const invalidPattern = (reason: string) => routingErrors.invalidInput({ reason });

/** Imported files that become separate modules instead of being bundled. */
export interface ModuleRule {
  type: (typeof RULE_TYPES)[number];
  globs: string[];
  /** True if later rules of the same type also apply. */
  fallthrough?: boolean;
}

export const RULE_TYPES = ["ESModule", "CommonJS", "CompiledWasm", "Text", "Data"] as const;

export const DEFAULT_RULES: readonly ModuleRule[] = [
  { type: "Text", globs: ["**/*.txt", "**/*.html", "**/*.sql"] },
  { type: "Data", globs: ["**/*.bin"] },
  { type: "CompiledWasm", globs: ["**/*.wasm", "**/*.wasm?module"] },
];

interface RuleMatch {
  type: ModuleRule["type"];
  /** True for a default that a rule in the file disabled: importing such a file is an error instead of a surprise. */
  removed: boolean;
}

/**
 * Returns a function that finds the rule for a specifier. The rules in the file come first, then the defaults. The
 * first rule of a type hides later ones of that type unless it has `fallthrough`, as in wrangler.
 */
export function matchRules(ownRules: readonly ModuleRule[]): (specifier: string) => RuleMatch | undefined {
  const endedTypes = new Set<string>();
  const rules = [...ownRules, ...DEFAULT_RULES].map((rule) => {
    const isRemoved = endedTypes.has(rule.type);
    if (rule.fallthrough !== true) endedTypes.add(rule.type);
    return { type: rule.type, removed: isRemoved, patterns: rule.globs.map(globPattern) };
  });
  return (specifier) => {
    const matchingRules = rules.filter((rule) => rule.patterns.some((pattern) => pattern.test(specifier)));
    const rule = matchingRules.find(({ removed: isRemoved }) => !isRemoved) ?? matchingRules[0];
    return rule && { type: rule.type, removed: rule.removed };
  };
}

/**
 * Converts a glob to a regular expression: `**` as a whole path segment matches any folders, `*` matches within a
 * folder, `?` is literal (it occurs in `.wasm?module`), `{a,b}` matches either. A leading `./` is ignored.
 */
export function globPattern(glob: string): RegExp {
  const source = glob
    .replace(/^\.\//, "")
    .replaceAll(/(?<=^|\/)\*\*\/|(?<=^|\/)\*\*$|\*+|[{},]|[^*{},]+/g, (part, at: number, matchedText: string) => {
      if (part === "**/") return "(?:.*/)?";
      if (part === "**" && at + 2 === matchedText.length && (at === 0 || matchedText[at - 1] === "/")) return ".*";
      if (part.startsWith("*")) return "[^/]*";
      if (part === "{") return "(?:";
      if (part === "}") return ")";
      if (part === ",") return glob.includes("{") ? "|" : ",";
      return escapePattern(part);
    });
  return new RegExp(`^(?:\\./)?${isBalanced(glob) ? source : escapePattern(glob)}$`);
}

function isBalanced(glob: string): boolean {
  let depth = 0;
  for (const char of glob) {
    if (char === "{") depth++;
    if (char === "}") depth--;
    if (depth < 0 || depth > 1) return false;
  }
  return depth === 0;
}

const escapePattern = (text: string) => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

interface Rule {
  matches(path: string): boolean;
  /** True if the pattern matches only directories. */
  folder: boolean;
  negated: boolean;
}

/**
 * Parses a `.assetsignore` file, which has the syntax of .gitignore (gitignore(5)). Returns a predicate for ignored
 * files. Their paths are relative and use "/" as separator.
 */
export function parseIgnore(text: string): (path: string) => boolean {
  const rules = text.split(/\r?\n/).flatMap(parseRule);
  const isIgnored = (path: string, folder: boolean) => {
    const last = rules.findLast((rule) => (folder || !rule.folder) && rule.matches(path));
    return last !== undefined && !last.negated;
  };
  return (path) => {
    // A file in an ignored directory cannot be re-included.
    for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1))
      if (isIgnored(path.slice(0, end), true)) return true;
    return isIgnored(path, false);
  };
}

function parseRule(line: string): Rule[] {
  // Trailing spaces are ignored unless escaped.
  const text = line.replace(/(?<!\\)\s+$/, "");
  if (text === "" || text.startsWith("#")) return [];
  const isNegated = text.startsWith("!");
  const pattern = (isNegated ? text.slice(1) : text).replace(/^\\(?=[#!])/, "");
  const folder = pattern.endsWith("/");
  const barePattern = folder ? pattern.slice(0, -1) : pattern;
  // A slash before the last character anchors the pattern.
  const isAnchored = barePattern.includes("/");
  const source = toRegExpSource(barePattern.replace(/^\//, ""));
  try {
    const expression = new RegExp(`^${isAnchored ? "" : "(?:.*/)?"}${source}$`);
    return barePattern === "" ? [] : [{ negated: isNegated, folder, matches: (path) => expression.test(path) }];
  } catch {
    // As in git, an invalid character range matches nothing.
    return [];
  }
}

function toRegExpSource(pattern: string): string {
  return pattern.replaceAll(
    /(?<=^|\/)\*\*\/|(?<=\/)\*\*$|\*+|\?|\[(!|\^)?((?:\\.|[^\]\\])+)\]|\\(.)|[\\$()+.[\]^{|}]/g,
    (token, negation: string | undefined, set: string | undefined, escaped: string | undefined) => {
      if (token === "**/") return "(?:.*/)?";
      if (token === "**") return ".+";
      if (token.startsWith("*")) return "[^/]*";
      if (token === "?") return "[^/]";
      if (set !== undefined) return `[${negation === undefined ? "" : "^"}${set}]`;
      return escaped === undefined ? `\\${token}` : escaped.replace(/[$()*+.?[\\\]^{|}]/, "\\$&");
    },
  );
}

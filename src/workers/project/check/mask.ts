/**
 * Replaces comments and the contents of strings, regular expressions and template texts with blanks of the same length:
 * offsets are preserved, and only code remains. It reads tokens, not grammar; where the two could differ (a `/` after
 * `)`), it assumes a division.
 */
export function maskSource(source: string): string {
  const output: string[] = [];
  /** Brace depth at which each open template continues. */
  const templates: number[] = [];
  let depth = 0;
  let at = 0;

  const maskTo = (end: number) => {
    output.push(source.slice(at, end).replaceAll(/[^\n]/g, " "));
    at = end;
  };
  const keepCharacter = () => void output.push(source[at++]!);

  function template() {
    // Matches from the position after the opening quote or a closing brace to the next `${` or the end of the template.
    const end = /(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/y;
    end.lastIndex = at;
    maskTo(at + end.exec(source)![0].length);
    if (source.startsWith("${", at)) {
      templates.push(depth++);
      maskTo(at + 2);
    } else if (at < source.length) maskTo(at + 1);
  }

  while (at < source.length) {
    const char = source[at]!;
    const rest = TOKENS.exec(((TOKENS.lastIndex = at), source));
    if (rest !== null) maskTo(at + rest[0].length);
    else if (char === "/" && startsPattern(output)) maskTo(at + patternLength(source, at));
    else if (char === "`") {
      maskTo(at + 1);
      template();
    } else if (char === "}" && templates.at(-1) === depth - 1) {
      depth = templates.pop()!;
      maskTo(at + 1);
      template();
    } else {
      if (char === "{") depth++;
      if (char === "}") depth--;
      keepCharacter();
    }
  }
  return output.join("");
}

/** A comment, or a string on one line. */
const TOKENS = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?/y;

function startsPattern(output: readonly string[]): boolean {
  const before = output.slice(-200).join("").trimEnd();
  return (
    before === "" ||
    /[(,=:[!&|?{};+\-*%~^<>]$|\b(?:return|typeof|case|in|of|delete|void|throw|new|await|yield)$/.test(before)
  );
}

function patternLength(source: string, at: number): number {
  const pattern = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0].length ?? 1;
}

import { classHighlighter, highlightCode } from "@lezer/highlight";
import { parser } from "@lezer/javascript";
import { escapeText } from "../../../kernel/design/index.ts";

const DIALECTS: Record<string, string> = { ts: "ts", tsx: "ts jsx", js: "jsx", jsx: "jsx" };

/** Returns the code as HTML: spans with the classes `tok-…` of @lezer/highlight. */
export function highlight(code: string, language: string): string {
  if (language === "json" || language === "jsonc") return withParentheses(code);
  const dialect = DIALECTS[language];
  if (dialect !== undefined) return coloured(code, dialect);
  return /^(sh|bash|console|yaml|ini|toml|conf)$/.test(language) ? withComments(code) : escapeText(code);
}

/** A bare object would be parsed as a block. */
const withParentheses = (code: string) => coloured(`(${code}\n)`, "").slice("(".length, -"\n)".length);

function coloured(code: string, dialect: string): string {
  let html = "";
  const put = (text: string, classes: string) =>
    (html += classes === "" ? escapeText(text) : `<span class="${classes}">${escapeText(text)}</span>`);
  highlightCode(
    code,
    parser.configure({ dialect }).parse(code),
    // Brackets and separators keep the text color.
    {
      ...classHighlighter,
      style: (tags) => (classHighlighter.style(tags) === "tok-punctuation" ? null : classHighlighter.style(tags)),
    },
    put,
    () => (html += "\n"),
  );
  return html;
}

const withComments = (code: string) =>
  code
    .split("\n")
    .map((line) => (/^\s*#/.test(line) ? `<span class="tok-comment">${escapeText(line)}</span>` : escapeText(line)))
    .join("\n");

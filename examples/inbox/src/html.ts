/** Text that is already HTML. */
export interface Html {
  readonly html: string;
}

type Value = Html | string | number | readonly Html[];

/** A template that escapes its values, except HTML created by this function. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return { html: strings.reduce((text, string, i) => text + render(values[i - 1]!) + string) };
}

function render(value: Value): string {
  if (typeof value === "string" || typeof value === "number") return escape(String(value));
  return "html" in value ? value.html : value.map(render).join("");
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text: string) => text.replace(/[&<>"']/g, (character) => escapes[character]!);

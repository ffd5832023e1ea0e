/** An element. Undefined attributes are omitted; children keep their order. */
export interface XmlElement {
  name: string;
  attributes?: Record<string, string | number | boolean | undefined>;
  children?: readonly (XmlElement | string)[];
}

/** XML 1.0, indented by two spaces per level. */
export const writeXml = (root: XmlElement): string => `<?xml version="1.0" encoding="UTF-8"?>\n${write(root, "")}\n`;

function write({ name, attributes = {}, children = [] }: XmlElement, indent: string): string {
  const attributeText = Object.entries(attributes)
    .map(([key, value]) => (value === undefined ? "" : ` ${key}="${escape(String(value))}"`))
    .join("");
  if (children.length === 0) return `${indent}<${name}${attributeText}/>`;
  if (children.every((child) => typeof child === "string"))
    return `${indent}<${name}${attributeText}>${children.map(escape).join("")}</${name}>`;
  const inner = children.map((child) =>
    typeof child === "string" ? `${indent}  ${escape(child)}` : write(child, `${indent}  `),
  );
  return `${indent}<${name}${attributeText}>\n${inner.join("\n")}\n${indent}</${name}>`;
}

/** Control characters and lone surrogates are not allowed (XML 1.0 2.2), not even as references. */
const escape = (text: string) =>
  text
    .toWellFormed()
    .replace(/(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu, "")
    .replace(/[&<>"\t\n\r]/g, (char) => `&#${char.charCodeAt(0)};`);

import { XMLParser } from "fast-xml-parser";
import { s3Errors } from "./errors.ts";

const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";

/** The name of an element, and its text or children. Undefined children are omitted. */
export type Element = readonly [name: string, content: string | number | boolean | readonly (Element | undefined)[]];

export const xmlDocument = (root: string, children: readonly (Element | undefined)[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="${NAMESPACE}">${children.map(write).join("")}</${root}>`;

/** Returns an error document, which has no namespace. */
export const errorDocument = (children: readonly (Element | undefined)[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${children.map(write).join("")}</Error>`;

function write(element: Element | undefined): string {
  if (element === undefined) return "";
  const [name, content] = element;
  const inner = typeof content === "object" ? content.map(write).join("") : escape(String(content));
  return `<${name}>${inner}</${name}>`;
}

/** Writes control characters as character references, as S3 does, although XML 1.0 parsers may reject some of them. */
const escape = (text: string) =>
  text.replace(
    // oxlint-disable-next-line no-control-regex
    /[&<>"'\0-\x1f\x7f]/g,
    (character) => ESCAPES[character] ?? `&#x${character.charCodeAt(0).toString(16)};`,
  );
const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

const parser = new XMLParser({
  ignoreAttributes: true,
  removeNSPrefix: true,
  parseTagValue: false,
  // Keys can contain leading and trailing spaces.
  trimValues: false,
  // Character references are decoded below, including numeric ones; a document type definition is rejected.
  processEntities: false,
  isArray: () => true,
  stopNodes: [],
});

/** A parsed element. */
export interface XmlNode {
  /** Returns the text of the first child with this name. */
  text(name: string): string | undefined;
  texts(name: string): string[];
  /** Returns the first child with this name. */
  child(name: string): XmlNode | undefined;
  children(name: string): XmlNode[];
  has(name: string): boolean;
}

/**
 * Enough for a multipart upload of 10,000 parts, each with its checksums. Limited, because a parsed element needs
 * several times its size in memory.
 */
const MAX_TAGS = 250_000;

function hasTooManyTags(bytes: Uint8Array): boolean {
  let count = 0;
  for (let at = bytes.indexOf(0x3c); at >= 0; at = bytes.indexOf(0x3c, at + 1)) if (++count > MAX_TAGS) return true;
  return false;
}

/** Throws malformedXml. */
export function parseXml(bytes: Uint8Array, root: string): XmlNode {
  const malformedError = (reason: string) => s3Errors.malformedXml({ why: reason });
  if (hasTooManyTags(bytes)) throw malformedError(`it has more than ${MAX_TAGS} tags`);
  const xmlText = Buffer.from(bytes).toString();
  if (xmlText.includes("<!DOCTYPE") || xmlText.includes("<!ENTITY"))
    throw malformedError("it has a document type definition");
  let parsed: Record<string, unknown>;
  try {
    parsed = parser.parse(xmlText, true) as Record<string, unknown>;
  } catch (err) {
    throw s3Errors.malformedXml({ why: "it is not well-formed" }, { cause: err });
  }
  const rootElements = parsed[root];
  if (!Array.isArray(rootElements) || rootElements.length !== 1)
    throw malformedError(`the root element must be ${root}`);
  return nodeOf(rootElements[0]);
}

function nodeOf(value: unknown): XmlNode {
  const fields = typeof value === "object" && value !== null ? (value as Record<string, unknown[]>) : {};
  const childrenNamed = (name: string): unknown[] => (Object.hasOwn(fields, name) ? (fields[name] ?? []) : []);
  return {
    text: (name) => childrenNamed(name).map(textOf)[0],
    texts: (name) => childrenNamed(name).map(textOf),
    child: (name) => childrenNamed(name).map(nodeOf)[0],
    children: (name) => childrenNamed(name).map(nodeOf),
    has: (name) => childrenNamed(name).length > 0,
  };
}

const NAMED_ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const textOf = (value: unknown): string =>
  typeof value !== "string"
    ? ""
    : value.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (reference, hex, decimal, name) => {
        if (name !== undefined) return NAMED_ENTITIES[String(name).toLowerCase()] ?? String(reference);
        const codePoint = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16);
        return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : String(reference);
      });

import MarkdownIt, { type Token } from "markdown-it";
import { posix } from "node:path";
import { escapeText } from "../../../kernel/design/index.ts";
import { highlight } from "./highlight.ts";
import { pageOfFile, type SourcePage } from "./source-pages.ts";

/** Base path of all pages on the server. */
export const DOCS_PATH = "/docs";

export interface RenderedPage {
  title: string;
  /** HTML without the title. */
  html: string;
  headings: Heading[];
  sections: Section[];
}

interface Heading {
  level: number;
  text: string;
  anchor: string;
}

/** The text below a heading, for the search. */
interface Section {
  /** Empty for the text above the first heading. */
  heading: string;
  anchor: string;
  text: string;
}

/** Returns the URL path of the page of a file or folder of the repository. */
export function urlOfPage(path: string): string {
  if (path === "docs/README.md") return DOCS_PATH;
  const name = /^docs\/(.+)\.md$/.exec(path)?.[1];
  return name === undefined ? `${DOCS_PATH}/files/${path.toLowerCase()}` : `${DOCS_PATH}/${name}`;
}

/** Renders a page. HTML in its text is escaped, and links with a script URL are rendered as text. */
export function renderPage({ path, markdown }: SourcePage): RenderedPage {
  // Typographic replacements would change commands and values.
  const renderer = new MarkdownIt({ html: false, linkify: false, typographer: false });
  const tokens = renderer.parse(markdown, {});
  const title = takeTitle(tokens) ?? path;
  const headings = nameHeadings(tokens);
  const sections = sectionsOf(tokens);
  rewriteLinks(tokens, path);
  removeEmptyHeaders(tokens);
  renderer.renderer.rules.fence = (list, index) => {
    const { content, info } = list[index]!;
    const [language = "", file = ""] = info.split(" ");
    return codeBlock(content, language, /[./]/.test(file) ? file : undefined);
  };
  renderer.renderer.rules.table_open = () =>
    '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n';
  renderer.renderer.rules.table_close = () => "</table></div>\n";
  renderer.renderer.rules.heading_close = (list, index) => {
    const heading = list[index - 2]!;
    const anchor = attributeOf(heading, "id");
    const text = textOf(list[index - 1]!);
    return `<a class="anchor" href="#${escapeText(anchor)}" aria-label="Link to ${escapeText(text)}">#</a></${heading.tag}>\n`;
  };
  return { title, html: renderer.renderer.render(tokens, renderer.options, {}), headings, sections };
}

/** `file`: name of the file into which the reader copies the code. */
const codeBlock = (code: string, language: string, file: string | undefined): string => {
  const text = code.trimEnd();
  const copied = language === "console" || language === "text" ? "" : " data-copy";
  const caption = file === undefined ? "" : `<div class="file">${escapeText(file)}</div>`;
  return `${caption}<div class="code"${copied}><pre tabindex="0"><code>${highlight(text, language)}</code></pre></div>\n`;
};

/** Removes the first heading and returns its text. */
function takeTitle(tokens: Token[]): string | undefined {
  if (tokens[0]?.type !== "heading_open" || tokens[0].tag !== "h1") return undefined;
  const [, inline] = tokens.splice(0, 3);
  return textOf(inline!);
}

/** Generates the same anchors as GitHub, so that links work there and here. */
function nameHeadings(tokens: Token[]): Heading[] {
  const counts = new Map<string, number>();
  return tokens.flatMap((token, index) => {
    if (token.type !== "heading_open") return [];
    const text = textOf(tokens[index + 1]!);
    const name = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-");
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    const anchor = count === 0 ? name : `${name}-${count}`;
    token.attrSet("id", anchor);
    return [{ level: Number(token.tag.slice(1)), text, anchor }];
  });
}

const attributeOf = (token: Token, name: string): string => String(token.attrGet(name) ?? "");

const textOf = ({ children, content }: Token): string =>
  children === null ? content : children.map((child) => (child.type === "softbreak" ? " " : child.content)).join("");

/** Markdown tables have a header even if it is empty; screen readers would announce it. */
function removeEmptyHeaders(tokens: Token[]): void {
  for (let index = tokens.length - 1; index >= 0; index--) {
    if (tokens[index]!.type !== "thead_open") continue;
    const end = tokens.findIndex(({ type }, at) => at > index && type === "thead_close");
    const header = tokens.slice(index, end + 1);
    if (header.every(({ type, content }) => type !== "inline" || content === "")) tokens.splice(index, header.length);
    else
      header.forEach((token, at) => {
        if (token.type === "th_open" && header[at + 1]!.content === "") token.tag = header[at + 2]!.tag = "td";
      });
  }
}

function sectionsOf(tokens: Token[]): Section[] {
  const sections: Section[] = [{ heading: "", anchor: "", text: "" }];
  tokens.forEach((token, index) => {
    if (token.type === "heading_open")
      sections.push({ heading: textOf(tokens[index + 1]!), anchor: attributeOf(token, "id"), text: "" });
    else if (token.type === "fence" || (token.type === "inline" && tokens[index - 1]?.type !== "heading_open"))
      sections.at(-1)!.text += `${textOf(token)} `;
  });
  return sections
    .map((section) => ({ ...section, text: section.text.replaceAll(/\s+/g, " ").trim() }))
    .filter(({ text, heading }) => text !== "" || heading !== "");
}

function rewriteLinks(tokens: Token[], path: string): void {
  for (const child of tokens.flatMap(({ children }) => children ?? [])) {
    if (child.type === "image") child.attrSet("src", imageUrl(path, attributeOf(child, "src")));
    if (child.type !== "link_open") continue;
    const target = attributeOf(child, "href");
    if (/^[a-z]+:/.test(target)) child.attrSet("rel", "noreferrer");
    else child.attrSet("href", linkUrl(path, target));
  }
}

const imageUrl = (path: string, source: string) =>
  `/${posix.join(posix.dirname(path), source)}`.replace(/^\/docs/, DOCS_PATH);

/** Returns the URL of a link to a page or a file, relative to the file at `path`. */
function linkUrl(path: string, link: string): string {
  const [target = "", anchor] = link.split("#", 2);
  if (target === "") return link;
  const file = posix.join(posix.extname(path) === "" ? path : posix.dirname(path), target);
  const page = pageOfFile(file);
  const name = posix.basename(file);
  // A file of a folder is a section of the folder's page.
  const section = page === file || name === "README.md" ? undefined : name.toLowerCase().replace(/[^\w-]/g, "");
  const hash = anchor ?? section;
  return `${urlOfPage(page)}${hash === undefined ? "" : `#${hash}`}`;
}

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { blocksOf } from "./blocks.ts";

const root = join(import.meta.dirname, "..", "..");
const pages = globSync(["*.md", "docs/**/*.md", "examples/**/*.md"], {
  cwd: root,
  exclude: (path) => path.includes("node_modules"),
}).sort();
const read = (page: string) => readFileSync(join(root, page), "utf8").replace(/^```[^]*?^```/gm, "");

/** Generates anchors from headings in the same way as repository hosts do. */
const anchorsOf = (page: string) =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );

test("every link between pages has a target", () => {
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link]) => link!)
      .filter((link) => !/^[a-z]+:/.test(link) && !leads(page, link))
      .map((link) => `${page}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

function leads(page: string, link: string): boolean {
  const [path, anchor] = link.split("#") as [string, string?];
  const target = path === "" ? page : join(dirname(page), path);
  return existsSync(join(root, target)) && (anchor === undefined || anchorsOf(target).includes(anchor));
}

test("every page of docs/ is listed in its table of contents", () => {
  const contents = read("docs/README.md");
  assert.deepEqual(
    pages.filter(
      (page) =>
        page.startsWith("docs/") && page !== "docs/README.md" && !contents.includes(`(${page.slice("docs/".length)})`),
    ),
    [],
  );
});

test("the text of a section names each file before the block with its content", () => {
  // The info string of a fence contains the path, but repository hosts do not show it.
  const unnamed = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), "utf8");
    return blocksOf(text)
      .filter((block) => block.kind === "file")
      .filter(({ path, line }) => !proseOfSection(text, line).includes(basename(path)))
      .map(({ path, line }) => `${page}:${line}: ${path}`);
  });
  assert.deepEqual(unnamed, []);
});

/** Returns the text between the last heading before the line and the line, without fenced blocks. */
function proseOfSection(text: string, line: number): string {
  const before = `${text
    .split("\n")
    .slice(0, line - 1)
    .join("\n")}\n`.replace(/^```[^]*?^```$/gm, "");
  return before.slice(Math.max(0, before.search(/^#+ (?![^]*^#+ )/m)));
}

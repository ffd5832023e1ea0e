import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, posix } from "node:path";

/** A page in Markdown. */
export interface SourcePage {
  /** Path of its file or folder in the repository, for example `docs/mail.md` or `examples/inbox`. */
  path: string;
  markdown: string;
}

/** A folder with more files than this is not documentation. */
const MAX_FILES = 60;
const MAX_FILE_BYTES = 64 * 1024;
const LANGUAGES: Record<string, string> = { ".mjs": "js", ".jsonc": "json", ".service": "ini", ".socket": "ini" };

/**
 * Resolves with the pages of `docs/` and, so that every link between pages has a target on the server, the files and
 * folders of the repository that they link to. A folder is one page: its README.md and the text of its files.
 */
export async function readSourcePages(root: string): Promise<SourcePage[]> {
  const names = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md")).sort();
  const pages = await Promise.all(names.map((name) => readPage(root, `docs/${name}`)));
  const known = new Set(pages.map(({ path }) => path));
  // Pages outside of docs/ link to further ones, so the list grows during iteration.
  for (const { path, markdown } of pages)
    for (const target of linksOutside(path, markdown)) {
      if (known.has(target)) continue;
      known.add(target);
      pages.push(await readOther(root, target));
    }
  return pages;
}

const readPage = async (root: string, path: string): Promise<SourcePage> => ({
  path,
  markdown: await readFile(join(root, path), "utf8"),
});

/** Paths outside `docs/` that a page links to. */
function linksOutside(path: string, markdown: string): string[] {
  const folder = posix.extname(path) === "" ? path : posix.dirname(path);
  return [...markdown.replace(/^(`{3,})[^]*?^\1/gm, "").matchAll(/\]\(([^)\s#]+)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => posix.join(folder, link))
    .filter((target) => !target.startsWith("docs/") && !target.startsWith(".."))
    .map(pageOfFile);
}

/** A file in a folder of the repository is part of the folder's page. */
export function pageOfFile(path: string): string {
  const folder = posix.dirname(path);
  return folder !== "." && extname(path) !== "" && !path.startsWith("docs/") ? folder : path.replace(/\/$/, "");
}

async function readOther(root: string, path: string): Promise<SourcePage> {
  if ((await stat(join(root, path))).isFile())
    return { path, markdown: `# ${path}\n\n${fenced("text", await readFile(join(root, path), "utf8"))}` };
  const entries = await readdir(join(root, path), { recursive: true, withFileTypes: true });
  const all = entries
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(entry.parentPath.slice(join(root, path).length + 1), entry.name));
  // A folder with a README.md is a page of its own.
  const folders = all.filter((file) => file.endsWith("/README.md")).map((file) => file.slice(0, -"README.md".length));
  const files = all
    .filter((file) => !folders.some((folder) => file.startsWith(folder)))
    .filter((file) => !/(^|\/)(node_modules|package-lock\.json|README\.md|\.\w+)(\/|$)/.test(file))
    .sort();
  if (files.length > MAX_FILES) throw new Error(`${path} has ${files.length} files: link to a smaller folder`);
  const readme = await readFile(join(root, path, "README.md"), "utf8").catch(() => `# ${path}\n`);
  const contents = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(root, path, file), "utf8");
      if (text.length > MAX_FILE_BYTES) throw new Error(`${path}/${file} is too long for a page of the documentation`);
      return `### ${file}\n\n${fenced(languageOf(file), text)}`;
    }),
  );
  return { path, markdown: [readme, "## Files", ...contents].join("\n\n") };
}

const languageOf = (file: string) => LANGUAGES[extname(file)] ?? extname(file).slice(1);

/** Returns a code fence that is longer than any fence in the text. */
function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}\n`;
}

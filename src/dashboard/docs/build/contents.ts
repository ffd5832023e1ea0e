/** A group of pages in the table of contents. */
export interface ContentsGroup {
  title: string;
  entries: ContentsEntry[];
}

interface ContentsEntry {
  title: string;
  /** Path of the file in the repository. */
  path: string;
  /** Markdown. */
  description: string;
}

/** Reads docs/README.md: headings of the second level, and below each a table of pages. */
export function readContents(markdown: string): ContentsGroup[] {
  const groups: ContentsGroup[] = [];
  for (const line of markdown.split("\n")) {
    const heading = /^## (.+)$/.exec(line);
    if (heading !== null) groups.push({ title: heading[1]!, entries: [] });
    const row = /^\| \[([^\]]+)\]\(([\w-]+\.md)\) \| (.+) \|$/.exec(line);
    if (row !== null) groups.at(-1)?.entries.push({ title: row[1]!, path: `docs/${row[2]}`, description: row[3]! });
  }
  return groups;
}

/**
 * Language check: denied words and phrases in error tables, log messages, command help, docs, comments, test names,
 * identifiers and file names. `scripts/words/baseline.json` contains the number of known occurrences, which may only
 * shrink.
 *
 *     node scripts/check-words.ts            fails on a new occurrence
 *     node scripts/check-words.ts --list     prints every occurrence
 *     node scripts/check-words.ts --update   writes smaller counts to the baseline
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { DENIED_NAMES, DENIED_PHRASES, DENIED_STARTS, type DeniedWord } from "./words/denied.ts";
import { type Text, textsOfPage, textsOfSource } from "./words/texts.ts";

const ROOT = join(import.meta.dirname, "..");
const BASELINE = join(import.meta.dirname, "words/baseline.json");
const { values: options } = parseArgs({
  options: { list: { type: "boolean", default: false }, update: { type: "boolean", default: false } },
});

interface Finding {
  /** Kind of text; "names" for identifiers and file names. */
  kind: string;
  place: string;
  found: string;
  instead: string;
}

const inText = DENIED_PHRASES.map((word) => ({ ...word, expression: new RegExp(`\\b(?:${word.pattern})\\b`, "gi") }));
const atStart = DENIED_STARTS.map((word) => ({
  ...word,
  expression: new RegExp(`(?:^|[.:;!] )(?:${word.pattern})`, "g"),
}));
const inName = DENIED_NAMES.map((word) => ({
  ...word,
  expression: new RegExp(`(?:^|_|[a-z0-9])(?:${word.pattern})(?=[A-Z_0-9]|$)|^(?:${lower(word)})(?=[A-Z]|$)`),
}));

function lower({ pattern }: DeniedWord): string {
  return pattern.replace(/(^|\|)([A-Z])/g, (_, bar: string, letter: string) => bar + letter.toLowerCase());
}

const tracked = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n");
const sources = tracked
  .filter((file) => /^(?:src|web|test|bench|drills|scripts|examples)\/.*\.tsx?$/.test(file))
  .filter((file) => !/^(?:bench\/peers|test\/clients|scripts\/words)\//.test(file));
const pages = tracked.filter(
  (file) => file.endsWith(".md") && !/^(?:bench\/peers|test\/clients|templates)\//.test(file),
);

const findings: Finding[] = [];
const names = new Set<string>();
for (const file of sources) {
  const read = textsOfSource(ROOT, file);
  read.texts.forEach(check);
  for (const name of read.names) names.add(name);
  names.add(camelCase(basename(file).replace(/\..*$/, "")));
}
for (const file of pages) textsOfPage(ROOT, file).forEach(check);
for (const name of names)
  for (const { expression, instead } of inName)
    if (expression.test(name)) findings.push({ kind: "names", place: name, found: name, instead });

function check({ kind, file, line, text }: Text): void {
  for (const { expression, instead } of [...inText, ...atStart])
    for (const [found] of text.matchAll(expression)) findings.push({ kind, place: `${file}:${line}`, found, instead });
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

const counts = Object.fromEntries(
  ["errors", "logs", "cli", "docs", "comments", "tests", "names"].map((kind) => [
    kind,
    findings.filter((finding) => finding.kind === kind).length,
  ]),
);
if (options.list)
  for (const { kind, place, found, instead } of findings)
    process.stdout.write(`${kind}  ${place}  "${found.trim()}": use ${instead}\n`);

const baseline = JSON.parse(readFileSync(BASELINE, "utf8")) as Record<string, number>;
const grown = Object.entries(counts).filter(([kind, count]) => count > (baseline[kind] ?? 0));
for (const [kind, count] of grown) {
  process.stderr.write(
    `${kind}: ${count} denied words, ${baseline[kind] ?? 0} in the baseline. Run \`node scripts/check-words.ts --list\`.\n`,
  );
  process.exitCode = 1;
}
if (options.update && grown.length === 0) writeFileSync(BASELINE, `${JSON.stringify(counts, undefined, 2)}\n`);

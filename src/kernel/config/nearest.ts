/**
 * The name of `known` that `typed` most likely means; undefined if none is close. Close: at most one edit per three
 * letters, ignoring case and `-`/`_`, or a prefix of four or more letters. The first of equally close names wins.
 */
export function nearestName(typed: string, known: readonly string[]): string | undefined {
  const wanted = plain(typed);
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  let best: string | undefined;
  let least = limit + 1;
  for (const name of known) {
    if (Math.abs(plain(name).length - wanted.length) >= least) continue;
    const edits = editDistance(wanted, plain(name));
    if (edits < least) [best, least] = [name, edits];
  }
  return best ?? (wanted.length < 4 ? undefined : known.find((name) => plain(name).startsWith(wanted)));
}

/** `; did you mean "x"?`, or the list of names if none is close and the list is short. */
export function suggestion(typed: string, known: readonly string[]): string | undefined {
  const name = nearestName(typed, known);
  if (name !== undefined) return `did you mean "${name}"?`;
  return known.length > 0 && known.length <= 8 ? `known: ${known.join(", ")}` : undefined;
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, "");

/**
 * Edit distance of two short words: insertions, deletions, substitutions, and swaps of adjacent letters (optimal string
 * alignment).
 */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let edits = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits = Math.min(edits, before[j - 2]! + 1);
      next.push(edits);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}

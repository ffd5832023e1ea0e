/**
 * The name of `known` that somebody who typed `typed` most likely meant, or undefined when none is near enough to suggest.
 * Near enough: at most one edit in three letters, letter case and `-`/`_` not counted; or four letters and more with which a known name
 * begins. Of equals, the first wins.
 */
export function nearest(typed: string, known: readonly string[]): string | undefined {
  const wanted = plain(typed);
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  let best: string | undefined;
  let least = limit + 1;
  for (const name of known) {
    if (Math.abs(plain(name).length - wanted.length) >= least) continue;
    const edits = distance(wanted, plain(name));
    if (edits < least) [best, least] = [name, edits];
  }
  return best ?? (wanted.length < 4 ? undefined : known.find((name) => plain(name).startsWith(wanted)));
}

/** `; did you mean "x"?`, or the list of what there is when nothing is near and the list is short. */
export function suggestion(typed: string, known: readonly string[]): string | undefined {
  const name = nearest(typed, known);
  if (name !== undefined) return `did you mean "${name}"?`;
  return known.length > 0 && known.length <= 8 ? `known: ${known.join(", ")}` : undefined;
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, "");

/** Edits between two short words: insertions, deletions, substitutions, and swaps of neighbours (optimal string alignment). */
export function distance(a: string, b: string): number {
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

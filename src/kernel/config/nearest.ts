/**
 * Returns the name of `candidates` that `input` most likely means; undefined if none is close. Close: at most one edit
 * per three letters, ignoring case and `-`/`_`, or a prefix of four or more letters. The first of equally close names
 * wins.
 */
export function nearestName(input: string, candidates: readonly string[]): string | undefined {
  const normalizedInput = normalizeName(input);
  const limit = Math.max(1, Math.floor(normalizedInput.length / 3));
  let best: string | undefined;
  let leastEdits = limit + 1;
  for (const name of candidates) {
    if (Math.abs(normalizeName(name).length - normalizedInput.length) >= leastEdits) continue;
    const edits = editDistance(normalizedInput, normalizeName(name));
    if (edits < leastEdits) [best, leastEdits] = [name, edits];
  }
  return (
    best ??
    (normalizedInput.length < 4
      ? undefined
      : candidates.find((name) => normalizeName(name).startsWith(normalizedInput)))
  );
}

/** `; did you mean "x"?`, or the list of names if none is close and the list is short. */
export function suggestion(input: string, candidates: readonly string[]): string | undefined {
  const name = nearestName(input, candidates);
  if (name !== undefined) return `did you mean "${name}"?`;
  return candidates.length > 0 && candidates.length <= 8 ? `known: ${candidates.join(", ")}` : undefined;
}

const normalizeName = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, "");

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
      const isSame = a[i - 1] === b[j - 1];
      let edits = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits = Math.min(edits, before[j - 2]! + 1);
      next.push(edits);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}

export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

/**
 * Maximum number of cells in the comparison table. Beyond it, the comparison would take too long, so the texts are
 * shown one after the other.
 */
const MAX_CELLS = 1_000_000;

/** Returns the lines of two texts as one list, with the fewest removed and added lines (longest common subsequence). */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  if (old.length * fresh.length > MAX_CELLS)
    return [
      ...old.map((text): DiffLine => ({ kind: "removed", text })),
      ...fresh.map((text): DiffLine => ({ kind: "added", text })),
    ];
  // common[i][j]: length of the longest common subsequence of old[i..] and fresh[j..].
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      common[i]![j] =
        old[i] === fresh[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push({ kind: "same", text: old[i]! });
      i++;
      j++;
    } else if (j === fresh.length || (i < old.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      lines.push({ kind: "removed", text: old[i++]! });
    } else {
      lines.push({ kind: "added", text: fresh[j++]! });
    }
  }
  return lines;
}

const linesOf = (text: string) => (text === "" ? [] : text.split("\n"));

/** JSON with sorted keys, so that their order does not matter. An absent value becomes an empty text. */
export function comparableJson(value: unknown): string {
  return value === undefined || value === null ? "" : JSON.stringify(sorted(value), null, 2);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

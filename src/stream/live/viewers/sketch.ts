/**
 * Who is there, small enough to be told to other processes: the lowest numbers of theirs (k minimum values). Up to `SKETCH` viewers it is exact however
 * often a viewer is in several sketches; above it is good to about four percent (its relative error is 1/√(k-2)).
 */
export const SKETCH = 512;

/** Numbers below 2^48, evenly spread: taken from a hash. */
const BITS = 48;
const OCTETS = BITS / 8;

export const lowest = (viewers: Iterable<number>): number[] =>
  [...new Set(viewers)].sort((a, b) => a - b).slice(0, SKETCH);

/** How many different viewers stand behind these sketches. */
export function distinct(sketches: readonly (readonly number[])[]): number {
  const union = lowest(sketches.flat());
  return union.length < SKETCH ? union.length : Math.round((SKETCH - 1) / ((union.at(-1)! + 1) / 2 ** BITS));
}

export function writeSketch(sketch: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(sketch.length * OCTETS);
  sketch.forEach((viewer, index) => bytes.writeUIntBE(viewer, index * OCTETS, OCTETS));
  return bytes.toString("base64");
}

export function readSketch(text: string): number[] {
  const bytes = Buffer.from(text, "base64");
  return Array.from({ length: Math.floor(bytes.length / OCTETS) }, (_, index) =>
    bytes.readUIntBE(index * OCTETS, OCTETS),
  );
}

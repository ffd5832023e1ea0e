/**
 * A compact form of a set of viewers to share with other processes: their lowest numbers (k minimum values). Exact up
 * to `SKETCH` viewers, even if a viewer is in several sketches; above that, within about four percent (the relative
 * error is 1/√(k-2)).
 */
export const SKETCH = 512;

/** Viewer numbers are evenly distributed below 2^48, because they come from a hash. */
const SKETCH_BITS = 48;
const OCTETS = SKETCH_BITS / 8;

export const sketchOf = (viewers: Iterable<number>): number[] =>
  [...new Set(viewers)].sort((a, b) => a - b).slice(0, SKETCH);

/** Returns the number of distinct viewers in these sketches. */
export function countDistinct(sketches: readonly (readonly number[])[]): number {
  const union = sketchOf(sketches.flat());
  return union.length < SKETCH ? union.length : Math.round((SKETCH - 1) / ((union.at(-1)! + 1) / 2 ** SKETCH_BITS));
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

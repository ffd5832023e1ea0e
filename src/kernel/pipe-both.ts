import type { Duplex } from "node:stream";

/** Pipes two connections into each other. When one closes, so does the other. */
export function pipeBoth(one: Duplex, other: Duplex): void {
  if (one.destroyed) return void other.destroy();
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    from.on("error", () => to.destroy()).once("close", () => to.destroy());
  }
}

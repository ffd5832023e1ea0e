import { after } from "node:test";
import type { Scope } from "./databases.ts";

/** Scope for resources of a whole suite: closed after its last test, in reverse order. Call it inside `describe`. */
export function suiteScope(): Scope {
  const ends: (() => Promise<void>)[] = [];
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return { after: (end) => void ends.push(end) };
}

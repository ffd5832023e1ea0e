import { after } from "node:test";
import type { Scope } from "./databases.ts";

/** For what a whole suite shares: ended after its last test, the last that was begun first. To be called inside of `describe`. */
export function suiteScope(): Scope {
  const ends: (() => Promise<void>)[] = [];
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return { after: (end) => void ends.push(end) };
}

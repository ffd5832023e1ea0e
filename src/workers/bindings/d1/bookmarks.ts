import { createHash } from "node:crypto";
import type { Clock } from "../../../kernel/index.ts";

/**
 * Session bookmarks in D1's format: `00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683`; later bookmarks sort
 * after earlier ones. There is one copy of a database, so every response is already consistent with every bookmark:
 * bookmarks are returned but never needed.
 */
export function createBookmarkGenerator(clock: Clock): (database: string) => string {
  let last = 0;
  return (database) => {
    last = Math.max(last + 1, clock.now() * 1000);
    const hex = last.toString(16).padStart(16, "0");
    return `${hex.slice(0, 8)}-${hex.slice(8)}-00000000-${createHash("md5").update(database).digest("hex")}`;
  };
}

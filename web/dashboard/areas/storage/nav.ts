import type { NavEntry } from "../area.ts";

export const storageNav: readonly NavEntry[] = [
  {
    label: "Storage",
    path: "/storage",
    icon: "database",
    shortcut: "k",
    keywords: ["KV", "R2", "D1", "keys", "buckets", "objects", "databases", "SQL"],
    pages: [
      { label: "KV", path: "/storage/kv" },
      { label: "R2", path: "/storage/r2" },
      { label: "D1", path: "/storage/d1" },
    ],
  },
];

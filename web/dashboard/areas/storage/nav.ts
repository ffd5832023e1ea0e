import type { NavEntry } from "../area.ts";

export const storageNav: readonly NavEntry[] = [
  { label: "Storage", path: "/storage", icon: "database", shortcut: "k" },
];

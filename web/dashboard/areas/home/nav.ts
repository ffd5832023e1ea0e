import type { NavEntry } from "../area.ts";

export const homeNav: readonly NavEntry[] = [
  { label: "Home", path: "/", icon: "home", shortcut: "h", keywords: ["health", "status", "URLs", "first steps"] },
];

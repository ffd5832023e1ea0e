import type { NavEntry } from "../area.ts";

export const settingsNav: readonly NavEntry[] = [
  { label: "Settings", path: "/settings", icon: "settings", shortcut: "s" },
];

import type { NavEntry } from "../area.ts";

export const workersNav: readonly NavEntry[] = [{ label: "Workers", path: "/workers", icon: "code", shortcut: "w" }];

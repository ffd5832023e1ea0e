import type { NavEntry } from "../area.ts";

export const liveNav: readonly NavEntry[] = [{ label: "Live", path: "/live", icon: "broadcast", shortcut: "l" }];

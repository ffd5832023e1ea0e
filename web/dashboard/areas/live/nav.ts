import type { NavEntry } from "../area.ts";

export const liveNav: readonly NavEntry[] = [
  {
    label: "Live",
    path: "/live",
    icon: "broadcast",
    keywords: ["live inputs", "broadcasts", "OBS", "RTMP", "SRT", "WHIP"],
    shortcut: "l",
  },
];

import type { NavEntry } from "../area.ts";

export const streamNav: readonly NavEntry[] = [
  {
    label: "Stream",
    path: "/stream",
    icon: "video",
    keywords: ["videos", "uploads", "captions", "thumbnails", "clips"],
    shortcut: "v",
  },
];

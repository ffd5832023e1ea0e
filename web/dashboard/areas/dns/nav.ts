import type { NavEntry } from "../area.ts";

export const dnsNav: readonly NavEntry[] = [
  {
    label: "DNS",
    path: "/dns",
    icon: "globe",
    modes: ["serve"],
    keywords: ["zones", "domains", "records", "name servers"],
    shortcut: "d",
  },
];

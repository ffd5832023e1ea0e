import type { NavEntry } from "../area.ts";

export const mailNav: readonly NavEntry[] = [
  {
    label: "Mail",
    path: "/mail",
    icon: "mail",
    modes: ["serve"],
    pages: [
      { label: "Log", path: "/mail/log" },
      { label: "Domains", path: "/mail/domains" },
    ],
    keywords: ["email", "routing", "rules", "log", "DKIM", "SPF", "queue", "bounces"],
    shortcut: "m",
  },
];

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
      { label: "Destination addresses", path: "/mail/addresses" },
      { label: "Queue", path: "/mail/queue" },
      { label: "Suppressions", path: "/mail/suppressions" },
    ],
    keywords: ["email", "routing", "rules", "log", "DKIM", "SPF", "queue", "bounces"],
    shortcut: "m",
  },
];

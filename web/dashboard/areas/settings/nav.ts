import type { NavEntry } from "../area.ts";

export const settingsNav: readonly NavEntry[] = [
  {
    label: "Settings",
    path: "/settings",
    icon: "settings",
    modes: ["serve"],
    shortcut: "s",
    keywords: ["password", "passkeys", "two-factor", "sessions", "members", "API tokens", "audit log", "certificates"],
    pages: [
      { label: "Your account", path: "/settings/account" },
      { label: "Members", path: "/settings/members" },
      { label: "API tokens", path: "/settings/tokens" },
      { label: "Audit log", path: "/settings/audit-log" },
      { label: "Server", path: "/settings/server" },
    ],
  },
];

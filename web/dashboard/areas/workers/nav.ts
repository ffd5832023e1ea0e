import type { NavEntry } from "../area.ts";

export const workersNav: readonly NavEntry[] = [
  {
    label: "Workers",
    path: "/workers",
    icon: "code",
    modes: ["serve"],
    shortcut: "w",
    keywords: ["scripts", "deployments", "secrets", "cron", "logs", "tail"],
  },
];

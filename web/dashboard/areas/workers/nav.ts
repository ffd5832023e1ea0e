import type { NavEntry } from "../area.ts";

export const workersNav: readonly NavEntry[] = [
  {
    label: "Workers",
    path: "/workers",
    icon: "code",
    shortcut: "w",
    keywords: ["scripts", "deployments", "secrets", "cron", "logs", "tail"],
  },
  { label: "Queues", path: "/queues", icon: "list", modes: ["serve"], keywords: ["messages", "consumers"] },
];

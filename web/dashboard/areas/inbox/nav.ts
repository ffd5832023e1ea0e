import type { NavEntry } from "../area.ts";

export const inboxNav: readonly NavEntry[] = [
  {
    label: "Inbox",
    path: "/inbox",
    icon: "inbox",
    shortcut: "i",
    count: () => import("./unread-count.tsx"),
    modes: ["dev"],
    keywords: ["messages", "mail", "received", "sent", "test message"],
  },
];

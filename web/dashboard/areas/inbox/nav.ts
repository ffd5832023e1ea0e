import type { NavEntry } from "../area.ts";

export const inboxNav: readonly NavEntry[] = [
  {
    label: "Inbox",
    path: "/inbox",
    icon: "inbox",
    shortcut: "i",
    modes: ["dev"],
    keywords: ["messages", "mail", "received", "sent", "test message"],
  },
];

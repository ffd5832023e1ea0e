import type { NavEntry } from "../area.ts";

export const mailNav: readonly NavEntry[] = [{ label: "Mail", path: "/mail", icon: "mail", shortcut: "m" }];

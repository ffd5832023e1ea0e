import type { AreaPages } from "../area.ts";

export const settingsPages: AreaPages = {
  "/settings": () => import("./account/account-page.tsx"),
  "/settings/account": () => import("./account/account-page.tsx"),
  "/settings/members": () => import("./members/members-page.tsx"),
  "/settings/tokens": () => import("./tokens/tokens-page.tsx"),
  "/settings/audit-log": () => import("./audit/audit-log-page.tsx"),
  "/settings/server": () => import("./server/server-page.tsx"),
};

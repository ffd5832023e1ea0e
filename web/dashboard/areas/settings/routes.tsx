import type { AreaPages } from "../area.ts";

export const settingsPages: AreaPages = {
  "/settings": () => import("./account/account-page.tsx"),
  "/settings/account": () => import("./account/account-page.tsx"),
  "/settings/members": () => import("./members/members-page.tsx"),
};

import type { AreaPages } from "../area.ts";

export const settingsPages: AreaPages = {
  "/settings": () => import("./index-page.tsx"),
};

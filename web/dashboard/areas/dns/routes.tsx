import type { AreaPages } from "../area.ts";

export const dnsPages: AreaPages = {
  "/dns": () => import("./zones-page.tsx"),
  "/dns/$zoneId": () => import("./records-page.tsx"),
  "/dns/$zoneId/verification": () => import("./verification-page.tsx"),
};

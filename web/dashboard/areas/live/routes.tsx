import type { AreaPages } from "../area.ts";

export const livePages: AreaPages = {
  "/live": () => import("./index-page.tsx"),
};

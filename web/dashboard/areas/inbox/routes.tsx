import type { AreaPages } from "../area.ts";

export const inboxPages: AreaPages = {
  "/inbox": () => import("./index-page.tsx"),
};

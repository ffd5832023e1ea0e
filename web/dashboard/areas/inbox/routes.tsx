import type { AreaPages } from "../area.ts";

export const inboxPages: AreaPages = {
  "/inbox": () => import("./inbox-page.tsx"),
  "/inbox/$messageId": () => import("./message-page.tsx"),
};

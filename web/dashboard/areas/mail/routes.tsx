import type { AreaPages } from "../area.ts";

export const mailPages: AreaPages = {
  "/mail": () => import("./log-page.tsx"),
  "/mail/log": () => import("./log-page.tsx"),
  "/mail/log/$entryId": () => import("./message-page.tsx"),
  "/mail/domains": () => import("./domains-page.tsx"),
  "/mail/domains/$zoneId": () => import("./setup-page.tsx"),
  "/mail/domains/$zoneId/rules": () => import("./rules-page.tsx"),
  "/mail/domains/$zoneId/sending": () => import("./sending-page.tsx"),
  "/mail/domains/$zoneId/reports": () => import("./reports-page.tsx"),
  "/mail/addresses": () => import("./addresses-page.tsx"),
  "/mail/queue": () => import("./queue-page.tsx"),
  "/mail/suppressions": () => import("./suppressions-page.tsx"),
};

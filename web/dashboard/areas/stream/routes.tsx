import type { AreaPages } from "../area.ts";

export const streamPages: AreaPages = {
  "/stream": () => import("./videos-page.tsx"),
  "/stream/watermarks": () => import("./watermarks-page.tsx"),
  "/stream/keys": () => import("./keys-page.tsx"),
  "/stream/webhooks": () => import("./webhooks-page.tsx"),
  "/stream/webhooks/$webhookId": () => import("./webhook-page.tsx"),
  "/stream/delivery": () => import("./delivery-page.tsx"),
  "/stream/usage": () => import("./usage-page.tsx"),
  "/stream/$videoId": () => import("./video-page.tsx"),
  "/stream/$videoId/tracks": () => import("./tracks-page.tsx"),
  "/stream/$videoId/clip": () => import("./clip-page.tsx"),
  "/stream/$videoId/access": () => import("./access-page.tsx"),
  "/stream/$videoId/encoding": () => import("./encoding-page.tsx"),
};

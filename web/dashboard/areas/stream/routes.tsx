import type { AreaPages } from "../area.ts";

export const streamPages: AreaPages = {
  "/stream": () => import("./videos-page.tsx"),
  "/stream/$videoId": () => import("./video-page.tsx"),
  "/stream/$videoId/tracks": () => import("./tracks-page.tsx"),
  "/stream/$videoId/clip": () => import("./clip-page.tsx"),
  "/stream/$videoId/access": () => import("./access-page.tsx"),
  "/stream/$videoId/encoding": () => import("./encoding-page.tsx"),
};

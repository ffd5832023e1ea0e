import type { AreaPages } from "../area.ts";

export const livePages: AreaPages = {
  "/live": () => import("./inputs-page.tsx"),
  "/live/$inputId": () => import("./input-page.tsx"),
  "/live/$inputId/health": () => import("./health-page.tsx"),
  "/live/$inputId/outputs": () => import("./outputs-page.tsx"),
  "/live/$inputId/recordings": () => import("./recordings-page.tsx"),
  "/live/$inputId/broadcast": () => import("./broadcast-page.tsx"),
};

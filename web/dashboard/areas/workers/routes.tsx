import type { AreaPages } from "../area.ts";

export const workersPages: AreaPages = {
  "/workers": () => import("./workers-page.tsx"),
  "/queues": () => import("./queues-page.tsx"),
  "/workers/$worker": () => import("./overview-page.tsx"),
  "/workers/$worker/code": () => import("./code/code-page.tsx"),
  "/workers/$worker/deployments": () => import("./deployments-page.tsx"),
  "/workers/$worker/logs": () => import("./logs/logs-page.tsx"),
  "/workers/$worker/triggers": () => import("./triggers-page.tsx"),
  "/workers/$worker/settings": () => import("./settings-page.tsx"),
};

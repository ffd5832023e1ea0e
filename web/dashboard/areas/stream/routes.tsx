import type { AreaPages } from "../area.ts";

export const streamPages: AreaPages = {
  "/stream": () => import("./videos-page.tsx"),
};

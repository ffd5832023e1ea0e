import type { AreaPages } from "../area.ts";

export const workersPages: AreaPages = {
  "/workers": () => import("./index-page.tsx"),
};

import type { AreaPages } from "../area.ts";

export const homePages: AreaPages = {
  "/": () => import("./index-page.tsx"),
};

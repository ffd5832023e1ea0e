import type { AreaPages } from "../areas/area.ts";

export const sessionPages: AreaPages = {
  "/sign-in": () => import("./sign-in-page.tsx"),
  "/sign-in/callback": () => import("./callback-page.tsx"),
};

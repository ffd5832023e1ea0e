import type { AreaPages } from "../area.ts";

export const mailPages: AreaPages = {
  "/mail": () => import("./index-page.tsx"),
};

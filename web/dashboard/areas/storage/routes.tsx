import type { AreaPages } from "../area.ts";

export const storagePages: AreaPages = {
  "/storage": () => import("./index-page.tsx"),
};

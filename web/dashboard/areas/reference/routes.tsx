import type { AreaPages } from "../area.ts";

export const referencePages: AreaPages = {
  "/reference": () => import("./reference-page.tsx"),
  "/reference/$operationId": () => import("./reference-page.tsx"),
};

import type { AreaPages } from "../area.ts";

export const storagePages: AreaPages = {
  "/storage": () => import("./kv/namespaces-page.tsx"),
  "/storage/kv": () => import("./kv/namespaces-page.tsx"),
  "/storage/kv/$namespaceId": () => import("./kv/keys-page.tsx"),
  "/storage/r2": () => import("./r2/buckets-page.tsx"),
  "/storage/r2/$bucket": () => import("./r2/objects-page.tsx"),
  "/storage/d1": () => import("./d1/databases-page.tsx"),
  "/storage/d1/$databaseId": () => import("./d1/tables-page.tsx"),
  "/storage/d1/$databaseId/console": () => import("./d1/console-page.tsx"),
};

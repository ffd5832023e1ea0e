import type { Route } from "../../operation.ts";
import { secretRoutes } from "./secrets.ts";
import type { SecretsStoreRouteDeps } from "./shapes.ts";
import { storeRoutes } from "./stores.ts";

/** Operations on the stores whose secrets the workers of an account share. */
export const secretsStoreRoutes = (deps: SecretsStoreRouteDeps): Route[] => [
  ...storeRoutes(deps),
  ...secretRoutes(deps),
];

import type { Route } from "../../operation.ts";
import { secretRoutes } from "./secrets.ts";
import type { SecretsStoreRouteDeps } from "./shapes.ts";
import { storeRoutes } from "./stores.ts";

/** Stores of secrets that the workers of an account share. */
export const secretsStoreRoutes = (deps: SecretsStoreRouteDeps): Route[] => [
  ...storeRoutes(deps),
  ...secretRoutes(deps),
];

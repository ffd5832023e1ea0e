import type { Route } from "../../operation.ts";
import { gatewayRoutes } from "./gateways.ts";
import { logRoutes } from "./logs.ts";
import type { AiGatewayRouteDeps } from "./shapes.ts";

/** Operations on the AI gateways of an account. */
export const aiGatewayRoutes = (deps: AiGatewayRouteDeps): Route[] => [...gatewayRoutes(deps), ...logRoutes(deps)];

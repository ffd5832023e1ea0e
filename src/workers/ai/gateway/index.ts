export { createAiGateways } from "./gateways.ts";
export { createAiGatewayBinding, type AiGatewayBinding, type AiRunThroughGateway } from "./binding.ts";
export { createGatewayLookup, type FindGateway } from "./lookup.ts";
export type { AiGateways } from "./port.ts";
export { aiProvidersOf } from "./providers.ts";
export { createAiGatewayProxy, type AiGatewayProxy } from "./proxy.ts";
export { aiGatewayMigrations } from "./schema.ts";

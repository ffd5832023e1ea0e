import { UserError } from "../../../kernel/index.ts";
import { defaultAiGatewaySettings } from "./gateways.ts";
import type { AiGateway, AiGateways } from "./port.ts";

/** The gateway that is created by its first authenticated request. */
const DEFAULT_GATEWAY = "default";

/** Finds the gateway of a request. Throws gatewayMissing. */
export type FindGateway = (account: string, id: string, options: { isAuthenticated: boolean }) => Promise<AiGateway>;

/** With `createsAll`, as in development, the first request to any gateway creates it. */
export function createGatewayLookup({
  gateways,
  createsAll = false,
}: {
  gateways: Pick<AiGateways, "get" | "create">;
  createsAll?: boolean;
}): FindGateway {
  const isError = (err: unknown, kind: string) => err instanceof UserError && err.kind === kind;
  return async (account, id, { isAuthenticated }) => {
    try {
      return await gateways.get(account, id);
    } catch (err) {
      const mayCreate = isAuthenticated && (createsAll || id === DEFAULT_GATEWAY);
      if (!mayCreate || !isError(err, "gatewayMissing")) throw err;
    }
    try {
      return await gateways.create(account, id, defaultAiGatewaySettings);
    } catch (err) {
      // A concurrent request has created it.
      if (isError(err, "gatewayExists")) return gateways.get(account, id);
      throw err;
    }
  };
}

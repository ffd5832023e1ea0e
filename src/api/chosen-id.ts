import type { Caller } from "../accounts/index.ts";
import { apiErrors } from "./errors.ts";
import type { Call } from "./operation.ts";

/**
 * The id of the resource that a POST creates, in the format of its kind. Only for the server's operator, so that an
 * import can keep the ids that are in embed codes and configuration files.
 */
const ID_HEADER = "reelpost-id";

export const ID_FORMATS = {
  hex: /^[0-9a-f]{32}$/,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
} as const;
const DESCRIPTIONS = { hex: "32 lowercase hex digits", uuid: "a lowercase UUID" } as const;

export interface ChosenIds {
  /** Returns the id in the request header, or undefined without it. Throws notAllowed, badRequest. */
  of(call: Pick<Call, "caller" | "node">, format: keyof typeof ID_FORMATS): Promise<string | undefined>;
  /** Throws notAllowed unless the caller administers the account of the server's operator. */
  requireOperator(caller: Caller): Promise<void>;
}

/** `operator` resolves with the account of the server's operator. */
export function createChosenIds(operator: () => Promise<string | undefined>): ChosenIds {
  async function requireOperator(caller: Caller): Promise<void> {
    const account = await operator();
    if (account === undefined || !caller.allows("Account Settings Write", { account }))
      throw apiErrors.notAllowed({ permission: '"Account Settings Write" on the account of the server\'s operator' });
  }

  return {
    requireOperator,
    async of({ caller, node }, format) {
      const id = node.incoming.headers[ID_HEADER];
      if (id === undefined) return undefined;
      await requireOperator(caller);
      if (typeof id !== "string" || !ID_FORMATS[format].test(id))
        throw apiErrors.badRequest({
          reason: `The Reelpost-Id header must be ${DESCRIPTIONS[format]}, not ${JSON.stringify(String(id).slice(0, 64))}`,
        });
      return id;
    },
  };
}

/** For a server without an operator, such as the development server. */
export const noChosenIds: ChosenIds = createChosenIds(async () => undefined);

/** The endpoint is `/v1/{account}/{gateway}/{provider}/{endpoint}`, or `/v1/{account}/{gateway}` with a list. */
export const AI_GATEWAY_PREFIX = "/v1/";

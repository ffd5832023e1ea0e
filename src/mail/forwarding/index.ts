export { createForwarding } from "./forwarding.ts";
export { setUpSrs } from "./setup.ts";
export type { Forwarding } from "./types.ts";
export { isAuthorAuthenticated, isAuthenticatedSender } from "./sender-authenticated.ts";

/** `reelpost dev` has no accounts: all resources belong to this one. */
export const DEV_ACCOUNT = "0".repeat(32);

/** The only user of `reelpost dev`. */
export const DEV_USER = { id: DEV_ACCOUNT, email: "developer@localhost" };

/** `reelpost dev` has no accounts: all resources belong to this one. */
export const DEV_ACCOUNT = "0".repeat(32);

/** `reelpost dev` has no accounts: everything belongs to this one. */
export const DEV_ACCOUNT = "0".repeat(32);

export const secretsStoreLimits = {
  /** Maximum size of a value in UTF-8. */
  valueBytes: 64 * 1024,
  commentChars: 1000,
  nameChars: 255,
  storesPerAccount: 100,
  /** Maximum number of secrets in all stores of an account: the quota in API responses. */
  secretsPerAccount: 1000,
};

/** The services that can be allowed to use a secret. */
export const SECRET_SCOPES = ["workers", "ai_gateway", "dex", "access", "containers", "websearch"] as const;

export const secretsStoreLimits = {
  /** Bytes of a value in UTF-8. */
  valueBytes: 64 * 1024,
  commentChars: 1000,
  nameChars: 255,
  storesPerAccount: 100,
  /** The quota that the API shows. */
  secretsPerAccount: 1000,
};

/** The services that may use a secret. */
export const SECRET_SCOPES = ["workers", "ai_gateway", "dex", "access", "containers", "websearch"] as const;

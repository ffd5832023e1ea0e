/** How a session was opened. */
export type SignInMethod = "link" | "password" | "passkey" | "oidc";

export interface Session {
  /** 32 hex digits. */
  id: string;
  user: string;
  method: SignInMethod;
  /** True if a one-time code was required in addition. */
  twoFactor: boolean;
  /** All times are in milliseconds since the Unix epoch. */
  createdAt: number;
  /** Up to a minute old. */
  lastUsedAt: number;
  /** The session ends at this time at the latest. */
  expiresAt: number;
  /** The address of the last use. */
  ip: string | null;
  /** The User-Agent header of the sign-in. */
  userAgent: string | null;
}

/** The client of a sign-in. */
export interface SignInClient {
  ip?: string | undefined;
  userAgent?: string | undefined;
}

/** The way a change was made. */
export type AuditInterface = "API" | "dashboard" | "command line" | "system";

/** A completed change. Secrets must already be removed. */
export interface AuditEvent {
  /** Absent if the server itself made the change. */
  actor?: { id: string; email: string } | undefined;
  interface: AuditInterface;
  /** The user whom the change concerns, if different from the actor. */
  user?: string | undefined;
  /** Id of the token or session that authenticated the actor. */
  credential?: string | undefined;
  ip?: string | undefined;
  userAgent?: string | undefined;
  request?: { id: string; method: string; path: string; params: Record<string, string> } | undefined;
  /** Id of the API operation, or a name for a change without one: "sign-in-password". */
  operation: string;
  /** The operation in words: "Delete a DNS record". */
  summary: string;
  /** A short verb: "create", "update", "delete", "sign_in". */
  action: string;
  /**
   * The account of the changed resource. Absent: a change of the user, which is also listed, without its values, in the
   * log of each of the user's accounts.
   */
  account?: string | undefined;
  zone?: { id: string; name: string | undefined } | undefined;
  resource: { type: string; id?: string | undefined };
  /** JSON values. Absent: unknown, or there was none. */
  before?: unknown;
  after?: unknown;
}

/** A stored change. `before` and `after` are JSON texts of at most 16 KB each. */
export interface AuditEntry {
  /** 32 hex digits. */
  id: string;
  at: number;
  /** The account, or the user for a change of the user. */
  owner: string;
  scope: "account" | "user";
  action: string;
  operation: string;
  summary: string;
  actor: { id: string; email: string } | undefined;
  user: string | undefined;
  interface: AuditInterface;
  credential: string | undefined;
  ip: string | undefined;
  userAgent: string | undefined;
  request: { id: string; method: string; path: string; params: Record<string, string> } | undefined;
  zone: { id: string; name: string | undefined } | undefined;
  resource: { type: string; id: string | undefined };
  before: string | undefined;
  after: string | undefined;
}

/** All given conditions must hold. Texts are compared exactly, except the email address, whose case is ignored. */
export interface AuditQuery {
  id?: string | undefined;
  action?: string | undefined;
  operation?: string | undefined;
  resourceType?: string | undefined;
  resourceId?: string | undefined;
  actorEmail?: string | undefined;
  /** An address or a range in CIDR notation. */
  actorIp?: string | undefined;
  /** Id of a token or session. */
  credential?: string | undefined;
  zoneName?: string | undefined;
  /** Epoch milliseconds: entries at or after `since`, and before `until`. */
  since?: number | undefined;
  until?: number | undefined;
  hideUserLogs?: boolean | undefined;
  /** Default: newest first. */
  direction?: "asc" | "desc" | undefined;
}

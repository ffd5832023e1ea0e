import { queryOptions } from "@tanstack/react-query";
import { twoFactorQuery } from "../../api/account.ts";
import { api, type ResultOf } from "../../api/client.ts";

export type Session = ResultOf<"GET", "/user/sessions">[number];
export type Passkey = ResultOf<"GET", "/user/passkeys">[number];
export type Member = ResultOf<"GET", "/accounts/{account_id}/members/{member_id}">;
export type Token = ResultOf<"GET", "/user/tokens/{token_id}">;
export type PermissionGroup = ResultOf<"GET", "/user/tokens/permission_groups">[number];
export type AuditEntry = ResultOf<"GET", "/accounts/{account_id}/audit_logs">[number];
export type Setting = ResultOf<"GET", "/accounts/{account_id}/server/settings">[number];
export type Certificate = ResultOf<"GET", "/accounts/{account_id}/server/certificates">[number];

/** Query keys. Invalidating a prefix invalidates every key under it. */
export const settingsKeys = {
  password: ["settings", "password"] as const,
  twoFactor: twoFactorQuery.queryKey,
  passkeys: ["settings", "passkeys"] as const,
  sessions: ["settings", "sessions"] as const,
  members: (account: string) => ["settings", "members", account] as const,
  tokens: ["settings", "tokens"] as const,
  audit: (account: string) => ["settings", "audit", account] as const,
  server: (account: string) => ["settings", "server", account] as const,
};

/** The user menu reads the same key. */
export const userQuery = queryOptions({ queryKey: ["user"], queryFn: () => api.get("/user"), retry: false });

export const passwordQuery = queryOptions({
  queryKey: settingsKeys.password,
  queryFn: () => api.get("/user/password"),
});

export const passkeysQuery = queryOptions({
  queryKey: settingsKeys.passkeys,
  queryFn: () => api.get("/user/passkeys"),
});

/** The newest sessions, to find the current one. */
export const ownSessionsQuery = queryOptions({
  queryKey: [...settingsKeys.sessions, "own"],
  queryFn: () => api.get("/user/sessions", { query: { per_page: 50 } }),
});

export const rolesQuery = (account: string) =>
  queryOptions({
    queryKey: ["settings", "roles", account],
    queryFn: () => api.get("/accounts/{account_id}/roles", { path: { account_id: account } }),
    staleTime: Infinity,
  });

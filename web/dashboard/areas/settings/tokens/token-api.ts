import { api, apiUrl, readError, type ListResult, type ResultOf } from "../../../api/client.ts";
import type { PermissionGroup, Token } from "../queries.ts";

/** Tokens act as a user, or belong to an account and outlive its members. Both have the same operations. */
export type TokenKind = "user" | "account";

/** The tokens of the user or of an account. */
export interface TokenOwner {
  kind: TokenKind;
  account: string;
}

export interface TokenRequest {
  name: string;
  policies: { effect: "allow"; permission_groups: { id: string }[]; resources: Record<string, unknown> }[];
  expires_on?: string;
  condition?: { request_ip: { in: string[] } };
}

type Created = ResultOf<"POST", "/user/tokens">;

const BASES: Record<TokenKind, string> = { user: "/user/tokens", account: "/accounts/{account_id}/tokens" };

const targetOf = ({ kind, account }: TokenOwner, token?: string) => ({
  base: BASES[kind],
  path: { ...(kind === "account" && { account_id: account }), ...(token !== undefined && { token_id: token }) },
});

export async function listTokens(
  owner: TokenOwner,
  query: { page: number; per_page: number },
): Promise<ListResult<Token>> {
  const { path } = targetOf(owner);
  return owner.kind === "user"
    ? api.list("/user/tokens", { query: { ...query, include_expired: "true" } })
    : api.list("/accounts/{account_id}/tokens", {
        path: path as { account_id: string },
        query: { ...query, include_expired: "true" },
      });
}

export const listPermissionGroups = (owner: TokenOwner): Promise<PermissionGroup[]> => {
  const { base, path } = targetOf(owner);
  return api.request("GET", `${base}/permission_groups`, { path });
};

export const createToken = (owner: TokenOwner, body: TokenRequest): Promise<Created> => {
  const { base, path } = targetOf(owner);
  return api.request("POST", base, { path, body });
};

/** Returns the new value. */
export const rollToken = (owner: TokenOwner, token: string): Promise<string> => {
  const { base, path } = targetOf(owner, token);
  return api.request("PUT", `${base}/{token_id}/value`, { path, body: {} });
};

export const deleteToken = (owner: TokenOwner, token: string): Promise<unknown> => {
  const { base, path } = targetOf(owner, token);
  return api.request("DELETE", `${base}/{token_id}`, { path });
};

/** Sends a request with the token instead of the session. Resolves with its status. */
export async function testToken(owner: TokenOwner, value: string): Promise<Token["status"]> {
  const { base, path } = targetOf(owner);
  const response = await fetch(apiUrl(`${base}/verify`, path), {
    headers: { authorization: `Bearer ${value}` },
    credentials: "omit",
    cache: "no-store",
  });
  // Not through `api`: a rejected token must not end the session.
  if (!response.ok) throw await readError(response);
  return ((await response.json()) as { result: { status: Token["status"] } }).result.status;
}

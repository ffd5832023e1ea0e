import { queryOptions, useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { isDev } from "./app-info.ts";
import { api } from "./client.ts";
import { queryClient } from "./query-client.ts";

interface Account {
  id: string;
  name: string;
  settings: { enforce_twofactor: boolean };
}

const STORAGE_KEY = "reelpost.account";
const DEV_ACCOUNT: Account = { id: "0".repeat(32), name: "Local", settings: { enforce_twofactor: false } };
const MAX_ACCOUNTS = 50;

const listeners = new Set<() => void>();
addEventListener("storage", ({ key }) => {
  if (key === STORAGE_KEY) for (const listener of listeners) listener();
});

/** The accounts of the signed-in user; a development server has one account. */
export const accountsQuery = queryOptions({
  queryKey: ["accounts"],
  queryFn: async (): Promise<Account[]> =>
    isDev() ? [DEV_ACCOUNT] : (await api.list("/accounts", { query: { per_page: MAX_ACCOUNTS } })).items,
  staleTime: 60_000,
});

/** Two-factor authentication of the user. */
export const twoFactorQuery = queryOptions({
  queryKey: ["settings", "two-factor"],
  queryFn: () => api.get("/user/two_factor"),
});

/** True while the session may only set up a second factor, because an account of the user requires one. */
export async function isSecondFactorRequired(): Promise<boolean> {
  const accounts = await queryClient.ensureQueryData(accountsQuery);
  if (!accounts.some(({ settings }) => settings.enforce_twofactor)) return false;
  return (await queryClient.ensureQueryData(twoFactorQuery)).required;
}

/** Returns the account that the pages show: the selected one, or the first one. Only for pages inside the shell. */
export function useAccount(): Account {
  const { data = [] } = useQuery(accountsQuery);
  const selected = useSyncExternalStore(subscribe, () => localStorage.getItem(STORAGE_KEY));
  const account = data.find(({ id }) => id === selected) ?? data[0];
  if (account === undefined) throw new Error("The token has access to no account.");
  return account;
}

/** Shows another account: everything that was loaded belongs to the previous one. */
export function selectAccount(id: string): void {
  localStorage.setItem(STORAGE_KEY, id);
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "accounts" && queryKey[0] !== "user" });
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

import { queryOptions } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";

export type Message = ResultOf<"GET", "/accounts/{account_id}/email/inbox/messages">[number];
export type MessageDetails = ResultOf<"GET", "/accounts/{account_id}/email/inbox/messages/{message_id}">;
export type Content = NonNullable<MessageDetails["content"]>;
export type Attachment = Content["attachments"][number];

export const MESSAGES = "/accounts/{account_id}/email/inbox/messages";
export const MESSAGE = "/accounts/{account_id}/email/inbox/messages/{message_id}";
export const MESSAGES_PER_PAGE = 50;

/** Values for the placeholders of MESSAGE. */
export interface MessagePath {
  account_id: string;
  message_id: string;
}

/**
 * The part of the list that a page shows. It is also in the URL of a message, to find the next and the previous
 * message.
 */
export interface InboxView extends Record<string, string | number> {
  page: number;
  search: string;
  kind: string;
  worker: string;
}

export const DEFAULT_VIEW: InboxView = { page: 1, search: "", kind: "", worker: "" };

/** Returns the search string in the syntax of the API. */
export const searchOf = ({ search, kind, worker }: InboxView): string =>
  [search.trim(), kind && `kind:${kind}`, worker && `worker:${worker}`].filter((part) => part !== "").join(" ");

/** Returns the values for the URL, without the defaults. */
export const urlSearchOf = (view: InboxView): Record<string, string | number> =>
  Object.fromEntries(Object.entries(view).filter(([name, value]) => value !== DEFAULT_VIEW[name]));

/** Query keys. Invalidating a prefix invalidates every key under it. */
export const inboxKeys = {
  lists: (account: string) => ["inbox", account, "list"] as const,
  list: (account: string, search: string) => ["inbox", account, "list", search] as const,
  message: (account: string, id: string) => ["inbox", account, "message", id] as const,
  workers: (account: string) => ["inbox", account, "workers"] as const,
};

/** The function of `usePagedList` for the messages of a view. */
export const loadMessages =
  (account: string, search: string) => (request: { page: number; per_page: number }, signal: AbortSignal) =>
    api.list(MESSAGES, {
      path: { account_id: account },
      query: { ...request, ...(search !== "" && { query: search }) },
      signal,
    });

export const messageQuery = (account: string, id: string) =>
  queryOptions({
    queryKey: [...inboxKeys.message(account, id), "details"],
    queryFn: () => api.get(MESSAGE, { path: { account_id: account, message_id: id } }),
    retry: false,
  });

/** Names of the workers that receive messages. */
export const workersQuery = (account: string) =>
  queryOptions({
    queryKey: inboxKeys.workers(account),
    queryFn: async () => {
      const scripts = await api.get("/accounts/{account_id}/workers/scripts", { path: { account_id: account } });
      return scripts.flatMap(({ id }) => (id === undefined ? [] : [id])).sort();
    },
  });

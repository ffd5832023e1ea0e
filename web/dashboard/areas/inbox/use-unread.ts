import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { inboxKeys, loadMessages } from "./queries.ts";

export const UNREAD = "is:unread";

/** Returns the number of unread messages; 0 while it is unknown. */
export function useUnread(): number {
  const { id: account } = useAccount();
  const { data } = useQuery({
    queryKey: [...inboxKeys.lists(account), "unread"],
    queryFn: ({ signal }) => loadMessages(account, UNREAD)({ page: 1, per_page: 1 }, signal),
  });
  useLiveEvents(["inbox"], [inboxKeys.lists(account)]);
  return data?.info.total_count ?? 0;
}

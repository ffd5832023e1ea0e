import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { inboxKeys, MESSAGE } from "./queries.ts";

/** Deletes messages by their ids. */
export async function deleteMessages(account: string, ids: readonly string[]): Promise<void> {
  try {
    for (const id of ids) {
      await api.delete(MESSAGE, { path: { account_id: account, message_id: id } });
      queryClient.removeQueries({ queryKey: inboxKeys.message(account, id) });
    }
  } finally {
    await queryClient.invalidateQueries({ queryKey: inboxKeys.lists(account) });
  }
}

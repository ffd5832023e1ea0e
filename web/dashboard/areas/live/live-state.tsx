import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { formatNumber } from "../../shared/format.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { isPublishing, LIVE_STATES, statusQuery } from "./queries.ts";

/** The status of a live input, with the number of its viewers while it broadcasts. */
export function LiveState({ uid, enabled }: { uid: string; enabled: boolean }) {
  const { id: account } = useAccount();
  const { data } = useQuery(statusQuery(account, uid));
  if (!enabled) return <StatusBadge>Disabled</StatusBadge>;
  if (data === undefined) return <StatusBadge>…</StatusBadge>;
  if (isPublishing(data))
    return (
      <StatusBadge tone="good">
        Live, {data.viewers === 1 ? "1 viewer" : `${formatNumber(data.viewers)} viewers`}
      </StatusBadge>
    );
  const { tone, text } = data.state === null ? LIVE_STATES.client_disconnect : LIVE_STATES[data.state];
  // The last event of a live input that no longer broadcasts.
  return tone === "good" ? <StatusBadge>Offline</StatusBadge> : <StatusBadge tone={tone}>{text}</StatusBadge>;
}

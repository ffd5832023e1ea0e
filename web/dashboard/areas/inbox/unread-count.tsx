import { formatNumber } from "../../shared/format.tsx";
import { useUnread } from "./use-unread.ts";

/** The number next to the navigation entry. */
export default function UnreadCount() {
  const unread = useUnread();
  if (unread === 0) return null;
  return (
    <span className="rp-nav-count">
      {formatNumber(unread)} <span className="rp-visually-hidden">unread</span>
    </span>
  );
}

import { entryId } from "./entry-reference.ts";
import type { Entry } from "./types.ts";

/** Another log entry that was caused by a message. */
interface RelatedEntry {
  id: string;
  relation: "reply" | "bounce";
  messageId: string;
  to: string;
}

const MAX_RELATED = 50;

/** Returns the replies of a worker and the bounces that were sent because of a message. They may have expired. */
export function relatedEntries({ kind, events }: Pick<Entry, "kind" | "events">): RelatedEntry[] {
  if (kind !== "routing") return [];
  const related = events.flatMap(({ step, detail: { messageId, to, report } }): RelatedEntry[] => {
    if (step !== "replied" || typeof messageId !== "string") return [];
    return [to]
      .flat()
      .filter((rcpt) => typeof rcpt === "string")
      .map((rcpt) => ({
        id: entryId("sending", messageId, rcpt),
        relation: report === undefined ? "reply" : "bounce",
        messageId,
        to: rcpt,
      }));
  });
  return [...new Map(related.map((one) => [one.id, one])).values()].slice(0, MAX_RELATED);
}

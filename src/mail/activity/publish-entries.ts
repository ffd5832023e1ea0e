import { publishChange, type Events } from "../../store/index.ts";
import type { WrittenEntry } from "./writer.ts";

/**
 * Maximum number of entries of one account and zone that are published individually; a larger number is published as
 * one change.
 */
const MAX_SINGLE = 10;

/** Publishes changes to the log, as "mail", and to the outbound queue, as "queue". */
export const publishEntries =
  (events: Pick<Events, "publish">) =>
  (entries: readonly WrittenEntry[]): void => {
    const owned = entries.filter(({ account }) => account !== "");
    for (const group of Map.groupBy(owned, ({ account, zone }) => `${account} ${zone}`).values()) {
      const { account, zone } = group[0]!;
      const owner = { account, ...(zone !== "" && { zone }) };
      const ids = group.length > MAX_SINGLE ? [""] : group.map(({ id }) => id);
      for (const id of ids) publishChange(events, { topic: "mail", ...owner, id });
      if (group.some(({ isQueued }) => isQueued)) publishChange(events, { topic: "queue", ...owner, id: "" });
    }
  };

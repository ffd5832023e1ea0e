import { publishChange, type Events } from "../../store/index.ts";
import type { WrittenEntry } from "./writer.ts";

/** Entries of one account and zone that are published one by one; more of them are published as one change. */
const MAX_SINGLE = 10;

/** Publishes changes of the log, as "mail", and of the outbound queue, as "queue". */
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

import type { Clock } from "../../kernel/index.ts";
import type { Db, Events } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import type { Videos } from "../videos/index.ts";
import { checkChapters, formatChapters, readChapters } from "./chapter-list.ts";
import { createChaptersTable } from "./chapters-table.ts";
import type { Chapter, Chapters } from "./port.ts";

/** The event id is the uid of the video. */
export const CHAPTERS_CHANGED = "stream.chapters";

interface ChaptersDeps {
  db: Db;
  events: Pick<Events, "publish">;
  videos: Pick<Videos, "get" | "find">;
  clock: Pick<Clock, "now">;
}

export function createChapters({ db, events, videos, clock }: ChaptersDeps): Chapters {
  const table = createChaptersTable(db);

  async function set(account: string, uid: string, chapters: readonly Chapter[]): Promise<Chapter[]> {
    const { duration } = await videos.get(account, uid);
    const checked = checkChapters(chapters, duration);
    if (checked.length === 0) await table.delete(uid);
    else await table.put(uid, account, checked, clock.now());
    // If the video was deleted in the meantime, its cleanup ran before these chapters were stored.
    if ((await videos.find(uid)) === undefined) {
      await table.delete(uid);
      throw streamErrors.videoNotFound({ uid });
    }
    events.publish(CHAPTERS_CHANGED, uid);
    return checked;
  }

  return {
    async get(account, uid) {
      await videos.get(account, uid);
      return table.of(uid);
    },
    set,
    importFile: async (account, uid, file) => set(account, uid, readChapters(file)),
    async text(account, uid) {
      const { duration } = await videos.get(account, uid);
      return formatChapters(await table.of(uid), duration);
    },
    async delete(account, uid) {
      await set(account, uid, []);
    },
    onVideoDeleted: (uid) => table.delete(uid),
    of: async ({ uid, duration }) => (await table.of(uid)).filter(({ start }) => duration <= 0 || start < duration),
  };
}

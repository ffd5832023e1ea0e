import type { Video } from "./video.ts";
import type { StorageUsage } from "./port.ts";
import type { VideosExecutor } from "./videos-table.ts";

/** Quota usage of one video, in milliseconds of its duration. */
interface Charge {
  videos: number;
  used: number;
  reserved: number;
}

/** Creator value of the row for the whole account. */
const ACCOUNT = "";

/** A failed video uses no minutes; a video of unknown duration uses its reserved minutes. */
function chargeOf(video: Video | undefined): Charge {
  if (video === undefined) return { videos: 0, used: 0, reserved: 0 };
  if (video.state === "error") return { videos: 1, used: 0, reserved: 0 };
  if (video.duration >= 0) return { videos: 1, used: Math.round(video.duration * 1000), reserved: 0 };
  return { videos: 1, used: 0, reserved: (video.maxDurationSeconds ?? 0) * 1000 };
}

/**
 * Updates the counters in the transaction that changes the row: `before` becomes `after`; each is undefined if the row
 * does not exist at that time.
 */
export async function updateUsage(
  tx: VideosExecutor,
  before: Video | undefined,
  after: Video | undefined,
): Promise<void> {
  const { account } = (before ?? after)!;
  const [previousCharge, currentCharge] = [chargeOf(before), chargeOf(after)];
  const difference = {
    videos: currentCharge.videos - previousCharge.videos,
    used: currentCharge.used - previousCharge.used,
    reserved: currentCharge.reserved - previousCharge.reserved,
  };
  await add(tx, account, ACCOUNT, difference);
  const [from, to] = [before?.creator ?? ACCOUNT, after?.creator ?? ACCOUNT];
  if (from === to) return from === ACCOUNT ? undefined : add(tx, account, from, difference);
  if (from !== ACCOUNT)
    await add(tx, account, from, {
      videos: -previousCharge.videos,
      used: -previousCharge.used,
      reserved: -previousCharge.reserved,
    });
  if (to !== ACCOUNT) await add(tx, account, to, currentCharge);
}

async function add(
  tx: VideosExecutor,
  account: string,
  creator: string,
  { videos, used, reserved }: Charge,
): Promise<void> {
  if (videos === 0 && used === 0 && reserved === 0) return;
  await tx
    .insertInto("stream_usage")
    .values({ account_id: account, creator, videos, used_ms: used, reserved_ms: reserved })
    .onConflict((conflict) =>
      conflict.columns(["account_id", "creator"]).doUpdateSet((eb) => ({
        videos: eb("stream_usage.videos", "+", videos),
        used_ms: eb("stream_usage.used_ms", "+", used),
        reserved_ms: eb("stream_usage.reserved_ms", "+", reserved),
      })),
    )
    .execute();
  if (videos < 0)
    await tx
      .deleteFrom("stream_usage")
      .where("account_id", "=", account)
      .where("creator", "=", creator)
      .where("videos", "=", 0)
      .execute();
}

export async function readUsage(db: VideosExecutor, account: string, creator = ACCOUNT): Promise<StorageUsage> {
  // No creator contains U+0000, and PostgreSQL rejects it in text.
  const row = creator.includes("\0")
    ? undefined
    : await db
        .selectFrom("stream_usage")
        .selectAll()
        .where("account_id", "=", account)
        .where("creator", "=", creator)
        .executeTakeFirst();
  return {
    usedSeconds: (row?.used_ms ?? 0) / 1000,
    reservedSeconds: (row?.reserved_ms ?? 0) / 1000,
    videos: row?.videos ?? 0,
  };
}

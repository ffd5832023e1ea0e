import type { V4Client } from "../port.ts";
import { at, isStatus } from "../requests.ts";

interface Chapter {
  start: number;
  title: string;
}

const pathOf = (base: string, uid: string) => `${base}/stream${at`/${uid}`}/chapters`;

/** Reads the chapters of a video; none on a server whose API has no chapters. */
export async function chaptersOf(api: V4Client, base: string, uid: string): Promise<Chapter[]> {
  try {
    return (await api.result<{ chapters?: Chapter[] } | null>("GET", pathOf(base, uid)))?.chapters ?? [];
  } catch (thrown) {
    if (isStatus(thrown, 400, 403, 404, 405)) return [];
    throw thrown;
  }
}

/** `video`: the path of the video on the target. */
export async function copyChapters(target: V4Client, video: string, chapters: readonly Chapter[]): Promise<void> {
  await target.result("PUT", `${video}/chapters`, { json: { chapters } });
}

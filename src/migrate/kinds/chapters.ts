import type { V4Client } from "../port.ts";
import { apiPath, hasErrorStatus } from "../requests.ts";

interface Chapter {
  start: number;
  title: string;
}

const pathOf = (base: string, uid: string) => `${base}/stream${apiPath`/${uid}`}/chapters`;

/** Reads the chapters of a video; empty if the API of the server has no chapters. */
export async function chaptersOf(api: V4Client, base: string, uid: string): Promise<Chapter[]> {
  try {
    return (await api.result<{ chapters?: Chapter[] } | null>("GET", pathOf(base, uid)))?.chapters ?? [];
  } catch (thrown) {
    if (hasErrorStatus(thrown, 400, 403, 404, 405)) return [];
    throw thrown;
  }
}

/** Copies the chapters to the target. `video`: the path of the video there. */
export async function copyChapters(target: V4Client, video: string, chapters: readonly Chapter[]): Promise<void> {
  await target.result("PUT", `${video}/chapters`, { json: { chapters } });
}

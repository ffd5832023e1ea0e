import type { SourceContext } from "../context.ts";
import { download } from "../downloads.ts";
import { migrateErrors } from "../errors.ts";
import { apiPath, hasErrorStatus } from "../requests.ts";
import type { V4Video } from "./video.ts";

/** The file of a video, which can be read from any position. */
export interface VideoSource {
  /** True if the file is the one that was uploaded, without a watermark. */
  isOriginal(): Promise<boolean>;
  /** Resolves with a response that starts at the position, or at 0 if its status is 200. */
  read(start: number, end: number): Promise<Response>;
  /** Deletes a download that was created for the import. */
  close(): Promise<void>;
}

const POLL_MS = 2000;
const DOWNLOAD_MINUTES = 60;
const PROBE_MS = 30_000;

/** True if the source returns the uploaded file of a video. The hosted service does not. */
export async function offersOriginals(context: SourceContext, video: V4Video): Promise<boolean> {
  const url = await originalUrl(context, video);
  if (url === undefined) return false;
  const response = await (context.source.fetch ?? fetch)(url, {
    headers: { range: "bytes=0-0" },
    signal: AbortSignal.timeout(PROBE_MS),
  }).catch(() => undefined);
  await response?.body?.cancel();
  return response?.ok === true;
}

/** Throws conversionFailed, notReady, downloadFailed. */
export function createVideoSource(context: SourceContext, video: V4Video): VideoSource {
  const { source, paths } = context;
  const downloads = `${paths.source}/stream${apiPath`/${video.uid}`}/downloads`;
  let original: Promise<boolean> | undefined;
  let mp4: Promise<{ url: string; isNew: boolean }> | undefined;
  const isOriginal = () => (original ??= offersOriginals(context, video));

  async function currentUrl(): Promise<string> {
    if (await isOriginal()) return (await originalUrl(context, video))!;
    mp4 ??= createDownload(context, downloads, video);
    return signVideoUrl(context, video, (await mp4).url);
  }

  return {
    isOriginal,
    read: async (start, end) =>
      download(await currentUrl(), `the file of video ${video.uid}`, context, {
        headers: { range: `bytes=${start}-${end}` },
      }),
    async close() {
      const made = await mp4?.catch(() => undefined);
      if (made?.isNew === true) await source.api.raw("DELETE", downloads).catch(() => undefined);
    },
  };
}

/** Resolves with the delivery URL of the uploaded file with a new token, which is valid for an hour. */
async function originalUrl({ source, paths }: SourceContext, { uid, preview }: V4Video): Promise<string | undefined> {
  try {
    const { token } = await source.api.result<{ token: string }>(
      "POST",
      `${paths.source}/stream${apiPath`/${uid}`}/token`,
      {
        json: { downloadable: true, flags: { original: true } },
      },
    );
    const base = new URL(preview, source.api.url).href;
    return base.includes(`/${uid}/`)
      ? base.replace(new RegExp(`/${uid}/.*$`), `/${token}/downloads/original`)
      : undefined;
  } catch (thrown) {
    // The server cannot create such a token, or the API token lacks the permission.
    if (hasErrorStatus(thrown, 400, 403, 404)) return undefined;
    throw thrown;
  }
}

interface Downloads {
  default?: { status: string; url?: string };
}

/** Uses the MP4 download of the video, or creates it and waits for it. */
async function createDownload(
  { source, clock, signal }: SourceContext,
  path: string,
  { uid }: V4Video,
): Promise<{ url: string; isNew: boolean }> {
  const what = `the MP4 download of video ${uid}`;
  let { default: mp4 } = await source.api.result<Downloads>("GET", path);
  const isNew = mp4 === undefined;
  if (mp4 === undefined) ({ default: mp4 } = await source.api.result<Downloads>("POST", path, { json: {} }));
  const end = clock.now() + DOWNLOAD_MINUTES * 60_000;
  while (mp4?.status !== "ready") {
    if (mp4?.status === "error") throw migrateErrors.conversionFailed({ what, reason: "its status is error" });
    if (clock.now() > end) throw migrateErrors.notReady({ what, minutes: DOWNLOAD_MINUTES });
    signal?.throwIfAborted();
    await clock.sleep(POLL_MS);
    ({ default: mp4 } = await source.api.result<Downloads>("GET", path));
  }
  if (mp4.url === undefined) throw migrateErrors.conversionFailed({ what, reason: "it has no URL" });
  return { url: new URL(mp4.url, source.api.url).href, isNew };
}

/** A protected video needs a token in place of its uid. */
export async function signVideoUrl(
  { source, paths }: Pick<SourceContext, "source" | "paths">,
  { uid, requireSignedURLs }: V4Video,
  url: string,
): Promise<string> {
  if (requireSignedURLs !== true) return url;
  const { token } = await source.api.result<{ token: string }>(
    "POST",
    `${paths.source}/stream${apiPath`/${uid}`}/token`,
    {
      json: { downloadable: true },
    },
  );
  return url.replace(`/${uid}/`, `/${token}/`);
}

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import PostalMime from "postal-mime";
import { Upload } from "tus-js-client";
import { makeClip } from "./clip.ts";
import type { ExternalMailServer } from "./elsewhere.ts";
import { firstSegments } from "./first-segment.ts";
import { relativeToCwd, type Platform } from "./platform.ts";
import { printHeadline, printRow } from "./print.ts";

/** The fields of the API object that are printed. */
interface Video {
  preview: string;
  playback: { hls: string };
}

/** TUS chunk size: a multiple of 256 KiB, at least 5 MiB. */
const PIECE = 20 * 256 * 1024;
const SECONDS = 20;

/** Uploads a clip as a browser or phone does; prints the time to the first segment and the watch page. */
export async function uploadVideo(platform: Platform, folder: string): Promise<{ watch: string }> {
  const file = join(folder, "clip.mp4");
  await makeClip(file, SECONDS);
  const { uid, lastOctetAt } = await upload(platform, file);
  const { preview, playback } = await platform.call<Video>("GET", `/accounts/${platform.account.id}/stream/${uid}`);
  const segments = await firstSegments(playback.hls);
  printHeadline(`A video of ${SECONDS} seconds in 1280x720, created by ffmpeg and uploaded with tus-js-client:`);
  printRow("uploaded", `${relativeToCwd(file)}, ${inKilobytes(statSync(file).size)}`);
  for (const { size, asSent, octets, at } of segments) {
    const waited = ((at - lastOctetAt) / 1000).toFixed(2);
    printRow(
      "first segment",
      `${waited} s after the last byte: ${size}, ${inKilobytes(octets)}, ${asSent ? "the uploaded rendition" : "encoded on demand; other sizes follow"}`,
    );
  }
  printRow("watch it", preview);
  return { watch: preview };
}

async function upload({ api, token, account }: Platform, file: string): Promise<{ uid: string; lastOctetAt: number }> {
  const content = readFileSync(file);
  let uid: string | null | undefined;
  let lastOctetAt = 0;
  await new Promise<void>((resolve, reject) => {
    const sending = new Upload(content, {
      endpoint: `${api}/accounts/${account.id}/stream`,
      headers: { authorization: `Bearer ${token}` },
      chunkSize: PIECE,
      metadata: { name: "clip.mp4", filetype: "video/mp4" },
      onAfterResponse: (_request, response) => void (uid ??= response.getHeader("stream-media-id")),
      onProgress(sent, total) {
        if (sent === total) lastOctetAt = performance.now();
      },
      onSuccess: () => resolve(),
      onError: reject,
    });
    sending.start();
  });
  if (typeof uid !== "string") throw new Error("the upload was answered without stream-media-id");
  return { uid, lastOctetAt };
}

/** Shows the worker's reply to the sender of a video and checks the links in it. */
export async function showReply(elsewhere: ExternalMailServer, sender: string): Promise<void> {
  const { raw } = await elsewhere.next(({ to }) => to.includes(sender), 60_000);
  const { subject, from, html } = await PostalMime.parse(raw);
  const watch = /<a href="([^"]+)"/.exec(html ?? "")?.[1];
  const picture = /<img src="([^"]+)"/.exec(html ?? "")?.[1];
  if (watch === undefined || picture === undefined) throw new Error(`the reply has no picture and no link:\n${raw}`);
  const [page, image] = await Promise.all([fetch(watch), fetch(picture)]);
  if (!page.ok || !image.ok)
    throw new Error(`the reply names ${watch} (answered with ${page.status}) and ${picture} (${image.status})`);
  await page.body?.cancel();
  printHeadline("The worker uploaded the attachment and replied when the video was playable. The sender received:");
  printRow("reply", `"${subject}" from ${from?.address}`);
  printRow(
    "thumbnail",
    `${picture} (${image.headers.get("content-type")}, ${inKilobytes((await image.arrayBuffer()).byteLength)})`,
  );
  printRow("watch it", watch);
}

const inKilobytes = (octets: number) => `${Math.max(1, Math.round(octets / 1024))} KB`;

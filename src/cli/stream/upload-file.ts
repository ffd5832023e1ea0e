import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { ApiConnection } from "../api/connect.ts";
import type { CommandContext } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { onInterrupt } from "../interrupt.ts";
import { messageOf } from "../../kernel/index.ts";
import { uploadMetadata, type VideoProperties } from "./about.ts";
import { createUpload, sendUpload } from "./tus.ts";
import { videoPath } from "./video.ts";

/** Sends a file, or the rest of it. Resolves with the uid when all bytes have been received. */
export async function uploadFile(
  connection: ApiConnection,
  displayName: string,
  { about, resume }: { about: VideoProperties; resume: string | undefined },
  { cwd }: Pick<CommandContext, "cwd">,
): Promise<string> {
  const { progress } = connection;
  const file = resolve(cwd, displayName);
  const size = await sizeOf(file, displayName);
  const { address, uid } =
    resume === undefined ? await create(connection, { size, filename: basename(file), about }) : uploadOf(resume);
  let meter: { count: (octets: number) => void; offset: number } | undefined;
  const interrupt = onInterrupt();
  try {
    await sendUpload({
      address,
      file,
      displayName,
      size,
      resume: resume !== undefined,
      signal: interrupt.signal,
      onOffset(octets) {
        meter ??= {
          count: progress.meter(`uploading ${displayName}`, size, resume === undefined ? 0 : octets),
          offset: octets,
        };
        meter.count(octets - meter.offset);
        meter.offset = octets;
      },
      onPause: (reason, seconds) => progress.step(`${reason}; resuming in ${seconds} s`),
    });
  } finally {
    interrupt.release();
    progress.clear();
  }
  return uid;
}

async function sizeOf(file: string, shownPath: string): Promise<number> {
  const fileStats = await stat(file).catch((cause: NodeJS.ErrnoException) => {
    throw commandErrors.fileUnreadable(
      { file: shownPath, reason: cause.code === "ENOENT" ? "the file does not exist" : messageOf(cause) },
      { cause },
    );
  });
  if (!fileStats.isFile()) throw commandErrors.fileUnreadable({ file: shownPath, reason: "it is not a file" });
  if (fileStats.size === 0)
    throw commandErrors.badContent({ what: shownPath, reason: "it is empty", fix: "Specify a video file." });
  return fileStats.size;
}

async function create(
  connection: ApiConnection,
  { size, filename, about }: { size: number; filename: string; about: VideoProperties },
): Promise<{ address: string; uid: string }> {
  const { creator } = about;
  // Headers are ASCII; other text is sent in a separate request afterwards.
  const fitsHeader = creator === undefined || /^[\u0020-\u007E]*$/.test(creator);
  const upload = await createUpload(connection.api, `${connection.base}/stream`, {
    size,
    metadata: uploadMetadata(about, filename),
    creator: fitsHeader ? creator : undefined,
  });
  if (!fitsHeader) await connection.api.result("POST", videoPath(connection, upload.uid), { json: { creator } });
  return upload;
}

/** The URL of an upload contains the uid. */
function uploadOf(address: string): { address: string; uid: string } {
  const url = URL.parse(address);
  const [, uid] = /\/upload\/([0-9a-f]{32})\/[\w-]+\/?$/.exec(url?.pathname ?? "") ?? [];
  if (url === null || uid === undefined || !/^https?:$/.test(url.protocol))
    throw commandErrors.badContent({
      what: "--resume",
      reason: "it is not an upload URL",
      fix: "Use the URL printed when an upload stops.",
    });
  return { address: url.href, uid };
}

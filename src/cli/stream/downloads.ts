import type { ApiConnection } from "../api/connect.ts";
import { videoErrors } from "./errors.ts";
import { poll } from "./poll.ts";
import { videoPath } from "./video.ts";

interface Download {
  status: "inprogress" | "ready" | "error";
  percentComplete: number;
  url: string;
}

type Downloads = Partial<Record<"default" | "audio", Download>>;

/** Creates the download if it does not exist and waits for it. Resolves with its URL. Throws downloadFailed, stuck. */
export async function readyDownload(connection: ApiConnection, uid: string, type: keyof Downloads): Promise<string> {
  const { api, progress } = connection;
  const path = `${videoPath(connection, uid)}/downloads`;
  const existingDownload = (await api.result<Downloads>("GET", path))[type];
  if (existingDownload?.status === "ready") return existingDownload.url;
  if (existingDownload?.status !== "inprogress") await api.result("POST", `${path}/${type}`);
  const finishedDownload = await poll(async () => (await api.result<Downloads>("GET", path))[type], {
    until: (polledDownload) => polledDownload?.status !== "inprogress",
    changes: (polledDownload) => String(polledDownload?.percentComplete),
    onSeen: (polledDownload) =>
      progress.step(`creating the ${FILES[type].what}: ${Math.floor(polledDownload?.percentComplete ?? 0)}%`),
    createStalledError: (polledDownload, minutes) =>
      videoErrors.stuck({
        uid,
        minutes,
        state: `${Math.floor(polledDownload?.percentComplete ?? 0)}% of the ${FILES[type].what} of ${uid} is created`,
      }),
  }).finally(() => progress.clear());
  if (finishedDownload?.status !== "ready") throw videoErrors.downloadFailed({ uid });
  return finishedDownload.url;
}

export const FILES = { default: { what: "MP4", extension: "mp4" }, audio: { what: "M4A", extension: "m4a" } } as const;

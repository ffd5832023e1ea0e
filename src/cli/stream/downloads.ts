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
  const found = (await api.result<Downloads>("GET", path))[type];
  if (found?.status === "ready") return found.url;
  if (found?.status !== "inprogress") await api.result("POST", `${path}/${type}`);
  const made = await poll(async () => (await api.result<Downloads>("GET", path))[type], {
    until: (seen) => seen?.status !== "inprogress",
    changes: (seen) => String(seen?.percentComplete),
    onSeen: (seen) => progress.step(`creating the ${FILES[type].what}: ${Math.floor(seen?.percentComplete ?? 0)}%`),
    createStalledError: (seen, minutes) =>
      videoErrors.stuck({
        uid,
        minutes,
        state: `${Math.floor(seen?.percentComplete ?? 0)}% of the ${FILES[type].what} of ${uid} is created`,
      }),
  }).finally(() => progress.clear());
  if (made?.status !== "ready") throw videoErrors.downloadFailed({ uid });
  return made.url;
}

export const FILES = { default: { what: "MP4", extension: "mp4" }, audio: { what: "M4A", extension: "m4a" } } as const;

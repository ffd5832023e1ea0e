import { openAsBlob } from "node:fs";
import { basename } from "node:path";
import { messageOf } from "../kernel/index.ts";
import type { Video } from "./api.ts";
import { testHelperErrors } from "./errors.ts";

interface UploadParams {
  /** A path, or the bytes in base64. */
  file: string | { base64: string };
  name?: string;
  wait: boolean;
  timeout: number;
}

const POLL_MS = 50;

/** Uploads videos over HTTP, as a form. `token` may be any string; it is not checked. */
export function createVideoClient({ url, account, token }: { url: string; account: string; token: string }) {
  const base = `${url}/cdn-cgi/stream/client/v4/accounts/${account}/stream`;

  async function request(path: string, init?: RequestInit): Promise<Video> {
    const response = await fetch(`${base}${path}`, { ...init, headers: { authorization: `Bearer ${token}` } });
    const { success, result, errors } = (await response.json()) as {
      success: boolean;
      result: Video;
      errors: { message: string }[];
    };
    if (!success)
      throw testHelperErrors.videoRequestFailed({ reason: errors.map(({ message }) => message).join("; ") });
    return result;
  }

  async function blobOf(file: UploadParams["file"]): Promise<Blob> {
    if (typeof file !== "string") return new Blob([Buffer.from(file.base64, "base64")]);
    try {
      return await openAsBlob(file);
    } catch (err) {
      throw testHelperErrors.videoRequestFailed({ reason: `cannot read ${file}: ${messageOf(err)}` }, { cause: err });
    }
  }

  const get = ({ uid }: { uid: string }) => request(`/${encodeURIComponent(uid)}`);

  return {
    get,
    async upload({ file, name, wait, timeout }: UploadParams): Promise<Video> {
      const form = new FormData();
      form.append("file", await blobOf(file), name ?? (typeof file === "string" ? basename(file) : "video"));
      let video = await request("", { method: "POST", body: form });
      if (!wait) return video;
      const deadline = performance.now() + timeout;
      while (!video.readyToStream) {
        const { uid, status } = video;
        if (status.state === "error")
          throw testHelperErrors.videoFailed({ uid, reason: status.errorReasonText ?? status.errorReasonCode ?? "" });
        if (performance.now() > deadline) throw testHelperErrors.videoTimeout({ uid, timeout, state: status.state });
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        video = await get({ uid });
      }
      return video;
    },
  };
}

import { customerCode } from "../customers/index.ts";
import type { Video } from "./video.ts";

interface StreamUrlsDeps {
  /** `customer-<code>.<deliveryDomain>`, with or without a port; if empty, videos are served under `base`. */
  deliveryDomain: string;
  /** Upload host, with optional port; if empty (default), uploads are served under `base`. */
  uploadHost?: string;
  /**
   * Scheme, host and port of this server as used by clients, without a trailing slash; known only once the server is
   * listening.
   */
  base: () => string;
  /** Path prefix of `/<id>` without a delivery domain: `/cdn-cgi/stream` in `reelpost dev`. Default: no prefix. */
  prefix?: string;
}

/** URLs of a video. `id`: a token in place of the uid. */
export interface StreamUrls {
  /** Empty if videos are served under the URL of the server. */
  readonly deliveryDomain: string;
  /** Returns the URL prefix of `/<id>` for this account. */
  origin(account: string): string;
  of(video: Pick<Video, "uid" | "account">, id?: string): VideoUrls;
  /** Returns the URL of a path under the video: `at(video, "captions/en.vtt")`. */
  at(video: Pick<Video, "uid" | "account">, path: string, id?: string): string;
  /** Upload URL for the video's source; the secret is the credential. */
  upload(uid: string, secret: string): string;
}

interface VideoUrls {
  thumbnail: string;
  animated: string;
  watch: string;
  iframe: string;
  hls: string;
  dash: string;
}

export function createStreamUrls({ deliveryDomain, uploadHost = "", base, prefix = "" }: StreamUrlsDeps): StreamUrls {
  const originUrl = (account: string) =>
    deliveryDomain === "" ? `${base()}${prefix}` : originOf(`customer-${customerCode(account)}.${deliveryDomain}`);

  /** One listener serves all hosts, so they use its port unless `host` includes one. */
  function originOf(host: string): string {
    const { protocol, port } = new URL(base());
    return `${protocol}//${host}${port === "" || /:\d+$/.test(host) ? "" : `:${port}`}`;
  }
  const urlAt: StreamUrls["at"] = ({ account, uid }, path, id = uid) => `${originUrl(account)}/${id}/${path}`;
  return {
    deliveryDomain,
    origin: originUrl,
    at: urlAt,
    of(video, id) {
      const to = (path: string) => urlAt(video, path, id);
      return {
        thumbnail: to("thumbnails/thumbnail.jpg"),
        animated: to("thumbnails/thumbnail.gif"),
        watch: to("watch"),
        iframe: to("iframe"),
        hls: to("manifest/video.m3u8"),
        dash: to("manifest/video.mpd"),
      };
    },
    upload: (uid, secret) =>
      `${uploadHost === "" ? `${base()}${prefix}` : originOf(uploadHost)}/upload/${uid}/${secret}`,
  };
}

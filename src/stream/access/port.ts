import type { Video } from "../videos/index.ts";

/** Who may watch what: uids, signed tokens, their rules, and origins. Asked for every manifest and every segment. */
export interface Access {
  /** `id` as it stands in the path. Throws videoNotFound, signedUrlNeeded (401), tokenRefused (403), originNotAllowed (403), and downloadNotAllowed (403). */
  check(id: string, want: Want, viewer: Viewer): Promise<Video>;
}

/** What is behind the uid of a live input. Implemented by `live/addresses`; asked for every playlist, so answered from memory as a rule. */
export interface LiveAddresses {
  /** The broadcast that runs, else the last recording, else a video that has not begun (its `uid` is that of the input). Undefined: no input has this uid. */
  videoOf(input: string): Promise<Video | undefined>;
  /** `video` with its live input's access rules while it is live; other videos are returned unchanged. */
  guarded(video: Video): Promise<Video>;
}

/** Kind of request: `page` (iframe, watch) renders its own text when access is refused; `download` and `original` need their claims in a token. */
export type Want = "play" | "page" | "download" | "original";

/** The client of a request. Read by `viewerOf`. */
export interface Viewer {
  ip: string;
  /** Origin of the embedding page: the Origin field, or else the origin of Referer. */
  origin?: string;
  /** "ours": the server's own player or a navigation. "hidden": a page of another site that hides its origin. Absent: `origin` decides. */
  place?: "ours" | "hidden";
}

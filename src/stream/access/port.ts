import type { Video } from "../videos/index.ts";

/**
 * Access control for viewers: uids, signed tokens, access rules, and origins. Called for every manifest and every
 * segment.
 */
export interface Access {
  /**
   * Resolves with the video if the viewer may access it. `id`: the uid or token from the path. Throws videoNotFound,
   * signedUrlNeeded (401), tokenRefused (403), originNotAllowed (403), and downloadNotAllowed (403).
   */
  check(id: string, purpose: AccessPurpose, viewer: Viewer): Promise<Video>;
}

/**
 * Resolves uids of live inputs. Implemented by `live/addresses`; called for every playlist, so usually served from
 * memory.
 */
export interface LiveInputResolver {
  /**
   * Resolves with the current broadcast, else the last recording, else a video that has not started (its `uid` is that
   * of the input). Undefined if no input has this uid.
   */
  videoOf(input: string): Promise<Video | undefined>;
  /** `video` with its live input's access rules while it is live; other videos are returned unchanged. */
  withAccessRules(video: Video): Promise<Video>;
}

/**
 * Kind of request: `page` (iframe, watch) renders its own text when access is refused; `download` and `original`
 * require the corresponding claim in a token.
 */
export type AccessPurpose = "play" | "page" | "download" | "original";

/** The client of a request. Read by `viewerOf`. */
export interface Viewer {
  ip: string;
  /** Origin of the embedding page: the Origin field, or else the origin of Referer. */
  origin?: string;
  /**
   * "ours": the server's own player or a navigation. "hidden": a page of another site that hides its origin. If absent,
   * `origin` decides.
   */
  place?: "ours" | "hidden";
}

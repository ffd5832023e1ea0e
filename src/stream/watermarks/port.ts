import type { BurnedWatermark } from "../model.ts";
import type { Video, WatermarkProfile } from "../videos/index.ts";

/** Images that are burned into videos, and how. A profile does not change; what was chosen for a video stays with it, also when the profile is deleted. */
export interface Watermarks {
  /** A PNG of at most MAX_WATERMARK_BYTES. Throws badImage, badParameter, tooManyWatermarks. */
  create(account: string, image: Uint8Array, request?: WatermarkRequest): Promise<WatermarkProfile>;
  /** The same for an image that is fetched. Throws what fetching throws, and invalidUrl. */
  createFromUrl(account: string, url: string, request?: WatermarkRequest): Promise<WatermarkProfile>;
  /** The oldest first. */
  list(account: string): Promise<WatermarkProfile[]>;
  /** Throws watermarkNotFound, as the next does. */
  get(account: string, uid: string): Promise<WatermarkProfile>;
  delete(account: string, uid: string): Promise<void>;
  /** What is burned into a video, its image put beside the video's other objects. Undefined: nothing was chosen, or the image is gone. Asked when it is probed. */
  burned(video: Pick<Video, "uid" | "watermark">): Promise<BurnedWatermark | undefined>;
  /** Removes the images of profiles that were deleted so long ago that no upload can still be on its way that chose one of them. */
  sweep(): Promise<void>;
  /** Runs `sweep` every six hours, until closed. */
  start(): void;
  close(): Promise<void>;
}

/** 2 MiB. */
export const MAX_WATERMARK_BYTES = 2 * 1024 * 1024;

export interface WatermarkRequest {
  /** Default "". */
  name?: string;
  /** 0 to 1: of the image as it is. Default 1. */
  opacity?: number;
  /** 0 to 1: share of the picture between its edge and the image. Default 0.05. */
  padding?: number;
  /** 0 to 1: share of the picture; 0: the image's own size. Default 0.15. */
  scale?: number;
  /** Default upperRight. */
  position?: WatermarkProfile["position"];
}

import type { BurnedWatermark } from "../model.ts";
import type { Video, WatermarkProfile } from "../videos/index.ts";

/**
 * Images that are burned into videos, and their layout. A profile is immutable; a video keeps its chosen profile even
 * if that profile is deleted.
 */
export interface Watermarks {
  /**
   * Creates a profile from a PNG of at most MAX_WATERMARK_BYTES. Throws badImage, badParameter, tooManyWatermarks,
   * idTaken.
   */
  create(account: string, image: Uint8Array, request?: WatermarkRequest, uid?: string): Promise<WatermarkProfile>;
  /** Creates a profile from an image fetched from a URL. Also throws invalidUrl, urlNotPublic. */
  createFromUrl(account: string, url: string, request?: WatermarkRequest, uid?: string): Promise<WatermarkProfile>;
  /** Oldest first. */
  list(account: string): Promise<WatermarkProfile[]>;
  /** Throws watermarkNotFound, like the next method. */
  get(account: string, uid: string): Promise<WatermarkProfile>;
  delete(account: string, uid: string): Promise<void>;
  /** Reads the PNG of a profile. Throws watermarkNotFound. */
  image(account: string, uid: string): Promise<Uint8Array>;
  /**
   * Resolves with the watermark of a video, with its image copied alongside the video's other objects. Undefined if
   * none was chosen, or the image was deleted. Called when the video is probed.
   */
  copyForVideo(video: Pick<Video, "uid" | "watermark">): Promise<BurnedWatermark | undefined>;
  /** Deletes the images of profiles deleted so long ago that no pending upload can still use them. */
  sweep(): Promise<void>;
  /** Runs `sweep` every six hours, until closed. */
  start(): void;
  close(): Promise<void>;
}

/** 2 MiB. */
export const MAX_WATERMARK_BYTES = 2 * 1024 * 1024;

export interface WatermarkRequest {
  /** Default: "". */
  name?: string;
  /** 0 to 1, relative to the image. Default 1. */
  opacity?: number;
  /** 0 to 1: margin between the edge of the frame and the image, as a share of the frame. Default 0.05. */
  padding?: number;
  /** 0 to 1: size as a share of the frame; 0: the image's own size. Default 0.15. */
  scale?: number;
  /** Default upperRight. */
  position?: WatermarkProfile["position"];
}

import {
  createThumbnails,
  type DeliveryRoute,
  type MediaTools,
  type Thumbnails,
  type Videos,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeThumbnailsParts {
  store: Pick<Store, "objects">;
  videos: Pick<Videos, "find">;
  tools: MediaTools;
}

export interface ComposedThumbnails {
  thumbnails: Thumbnails;
  delivery: DeliveryRoute[];
}

/** Thumbnails and storyboards. */
export function composeThumbnails(
  { store: { objects }, videos, tools }: ComposeThumbnailsParts,
  { log }: Pick<Basics, "log">,
): ComposedThumbnails {
  const thumbnails = createThumbnails({ tools, objects, videos, log });
  return { thumbnails, delivery: thumbnails.routes };
}

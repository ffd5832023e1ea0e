import type { DeliveryRoute } from "../delivery/index.ts";
import type { createPlayerVideos } from "./player-video.ts";

/**
 * Metadata that third-party players (`playerEnhancementInfo.json`) and our own player (`player.json`) request, in any
 * state of the video.
 */
export function metadataRoutes(playerVideo: ReturnType<typeof createPlayerVideos>): DeliveryRoute[] {
  // Treated like a page, which reports a failed video where other routes reject the request.
  return [
    {
      path: "metadata/playerEnhancementInfo.json",
      purpose: "page",
      async handle({ video, sendText }) {
        sendText(JSON.stringify(video.publicDetails), { type: "application/json" });
      },
    },
    {
      path: "metadata/player.json",
      purpose: "page",
      async handle({ video, id, sendText }) {
        sendText(JSON.stringify(await playerVideo(video, id)), { type: "application/json" });
      },
    },
  ];
}

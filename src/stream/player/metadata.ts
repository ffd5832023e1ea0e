import type { DeliveryRoute } from "../delivery/index.ts";
import type { createPlayerVideos } from "./player-video.ts";

/** What players of others (`playerEnhancementInfo.json`) and our own (`player.json`) ask about a video, whatever its state. */
export function metadataRoutes(playerVideo: ReturnType<typeof createPlayerVideos>): DeliveryRoute[] {
  // What pages want: of a video that failed they are told so, where everything else is refused.
  return [
    {
      path: "metadata/playerEnhancementInfo.json",
      want: "page",
      async handle({ video, sendText }) {
        sendText(JSON.stringify(video.publicDetails), { type: "application/json" });
      },
    },
    {
      path: "metadata/player.json",
      want: "page",
      async handle({ video, id, sendText }) {
        sendText(JSON.stringify(await playerVideo(video, id)), { type: "application/json" });
      },
    },
  ];
}

import type { Stream } from "../../../stream/index.ts";
import { noChosenIds, type ChosenIds } from "../../chosen-id.ts";
import type { Route } from "../../operation.ts";
import { streamAnalyticsRoutes } from "./analytics.ts";
import { streamAudioRoutes } from "./audio.ts";
import { streamCaptionsRoutes } from "./captions.ts";
import { streamChaptersRoutes } from "./chapters.ts";
import { streamClipRoutes } from "./clip.ts";
import { streamCopyRoutes } from "./copy.ts";
import { streamDeliveryRoutes } from "./delivery.ts";
import { streamDirectUploadRoutes } from "./direct-upload.ts";
import { streamDownloadsRoutes } from "./downloads.ts";
import { streamEncodingRoutes } from "./encoding.ts";
import { streamKeysRoutes } from "./keys.ts";
import { streamLiveInputsRoutes } from "./live-inputs.ts";
import { streamLiveOutputsRoutes } from "./live-outputs.ts";
import { streamTokenRoutes } from "./token.ts";
import { streamUploadsRoutes } from "./uploads.ts";
import { streamUsageRoutes } from "./usage.ts";
import { streamVideosRoutes } from "./videos.ts";
import { streamWatermarksRoutes } from "./watermarks.ts";
import { streamWebhookRoutes } from "./webhook.ts";

/** The API operations for video. `chosenIds`: by default, ids cannot be chosen. */
export const streamRoutes = ({ services }: Pick<Stream, "services">, chosenIds: ChosenIds = noChosenIds): Route[] => [
  ...streamVideosRoutes(services),
  ...streamEncodingRoutes(services),
  ...streamUsageRoutes(services),
  ...streamAnalyticsRoutes(services),
  ...streamDeliveryRoutes(services),
  ...streamUploadsRoutes({ uploads: services.uploads, urls: services.urls, chosenIds }),
  ...streamCopyRoutes(services),
  ...streamDirectUploadRoutes(services),
  ...streamClipRoutes(services),
  ...streamKeysRoutes(services),
  ...streamTokenRoutes(services),
  ...streamWatermarksRoutes({ watermarks: services.watermarks, chosenIds }),
  ...streamCaptionsRoutes(services),
  ...streamChaptersRoutes(services),
  ...streamAudioRoutes(services),
  ...streamDownloadsRoutes(services),
  ...streamWebhookRoutes(services),
  ...streamLiveInputsRoutes({ ...services.live, videos: services.videos, urls: services.urls, chosenIds }),
  ...streamLiveOutputsRoutes(services.live),
];

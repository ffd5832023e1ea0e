export type { LiveFragment, LiveRendition, LiveRun, RunMaker, RunMaking, RunSink } from "./fragments.ts";
export { createAdmission, type Admission } from "./encode/admission.ts";
export { createRunMaker, type RunMakerParts } from "./encode/maker.ts";
export { createHub, type Hub, type HubParts } from "./hub/hub.ts";
export type {
  LiveErrorCode,
  LiveInput,
  LiveInputDirectory,
  LiveOutput,
  LiveOutputs,
  LiveOutputStatus,
  LiveRecording,
  LiveState,
  LiveStatusLog,
} from "./inputs/port.ts";
export type { LiveAudioTrack, LiveTracks, LiveVideoTrack, MediaPacket } from "./packets.ts";
export type { LiveProtocol, Publication, PublishClaim, Publishing } from "./publish.ts";
export { LAG_LIMIT, type LiveHealth, type LiveSession, type LiveSessions, type LiveSubscriber } from "./session.ts";
export { liveInitKey, liveSegmentKey, type LiveSegment, type LiveTimeline, type LiveTimelineRun } from "./timeline.ts";
export { createLiveAddresses, type LiveAddressesParts, type LiveAddressesRoom } from "./addresses/addresses.ts";
export { createOnAirAccess } from "./addresses/on-air.ts";
export { type RtmpLimits, type RtmpServer, type RtmpServerParts, startRtmpServer } from "./ingest/rtmp/server.ts";
export { startSrtServer, type SrtServer, type SrtServerParts } from "./ingest/srt/server.ts";
export { createLiveViewers, type LiveViewers, type LiveViewersParts } from "./viewers/viewers.ts";
export { liveViewersMigrations } from "./viewers/viewers-table.ts";
export { liveInputsMigrations } from "./inputs/live-table.ts";
export { createLiveInputs, type LiveInputsParts, type LiveInputsRoom } from "./inputs/live-inputs.ts";
export type {
  LiveEvent,
  LiveHistoryEntry,
  LiveInputChange,
  LiveInputs,
  LiveKeys,
  OwnedLiveInput,
  OwnedLiveOutputs,
} from "./inputs/types.ts";
export type { LiveBroadcasts, LiveNow } from "./inputs/broadcasts.ts";
export { createLiveFacts, type LiveFacts, type LiveFactsParts } from "./inputs/facts.ts";
export {
  listLiveInput,
  type LiveEndpoints,
  type LiveUrls,
  showLiveHistory,
  showLiveInput,
  showLiveOutput,
} from "./inputs/show.ts";
export { createLivePackages, type LivePackagesParts, type LivePackagesRoom } from "./package/packages.ts";
export { createLivePlayback, type LivePlayback, type LivePlaybackParts } from "./package/playback.ts";
export type { CutSegment, LivePackage, LivePackages, OpenPackage } from "./package/port.ts";
export { liveNotificationExample } from "./notifications/body.ts";
export { createLiveNotifications, type LiveNotificationsParts } from "./notifications/notifications.ts";
export { createAssembly, type Assembly, type AssemblyParts } from "./record/assembly.ts";
export { createBroadcasts, type Broadcasts } from "./broadcast/broadcasts.ts";
export type { BroadcastLeases } from "./broadcast/leases.ts";
export { broadcastMigrations, createLeasesTable } from "./broadcast/leases-table.ts";
export type { BroadcastParts } from "./broadcast/parts.ts";
export type { Recordings } from "./record/port.ts";
export { recordMigrations } from "./record/record-table.ts";
export { createRecordings, type RecordingsParts } from "./record/recordings.ts";
export { createBridges } from "./webrtc/bridges.ts";
export { createLiveWebrtc, type LiveWebrtc, type LiveWebrtcParts } from "./webrtc/webrtc.ts";
export { createLivePictures, type LivePictures, type LivePicturesParts } from "./pictures/pictures.ts";
export {
  createLiveOutputsRunner,
  type LiveOutputsRunner,
  type LiveOutputsRunnerParts,
} from "./outputs/live-outputs.ts";
export { createLiveHealthNotes, type LiveHealthNotes } from "./inputs/health.ts";
export { createClipFiles } from "./record/clip.ts";

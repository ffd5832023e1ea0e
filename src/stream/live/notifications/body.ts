import type { LiveEvent } from "../inputs/types.ts";

/** A notification as sent to the account's webhooks. */
interface LiveNotification {
  name: string;
  /** The notification in human-readable form. */
  text: string;
  data: {
    notification_name: "Stream Live Input";
    input_id: string;
    event_type: LiveEvent["type"];
    /** RFC 3339, UTC. */
    updated_at: string;
    live_input_errored?: { error: { code: string; message: string }; video_codec: string; audio_codec: string };
  };
  /** Seconds since 1970. */
  ts: number;
}

/** `name`: display name of the input. */
export function notificationOf({ type, input, at, error }: LiveEvent, name: string): LiveNotification {
  const updated = new Date(at).toISOString();
  const lines = [
    "Notification type: Stream Live Input",
    `Input ID: ${input}`,
    `Event type: ${type}`,
    `Updated at: ${updated}`,
    ...(error === null ? [] : [`Error: ${error.code}: ${error.message}`]),
  ];
  return {
    name,
    text: lines.join("\n"),
    data: {
      notification_name: "Stream Live Input",
      input_id: input,
      event_type: type,
      updated_at: updated,
      ...(error !== null && {
        live_input_errored: {
          error: { code: error.code, message: error.message },
          video_codec: error.videoCodec,
          audio_codec: error.audioCodec,
        },
      }),
    },
    ts: Math.floor(at / 1000),
  };
}

/** Returns an example with a nonexistent input, for webhook tests. */
export const liveNotificationExample = (now: number): string =>
  JSON.stringify(
    notificationOf(
      { id: "test", type: "live_input.connected", account: "", input: "0".repeat(32), at: now, error: null },
      "This is a test of the webhook",
    ),
  );

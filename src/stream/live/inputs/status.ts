import { type Clock, isHexId, type Log } from "../../../kernel/index.ts";
import type { LiveState, LiveStatusLog } from "./port.ts";
import type { StatusTable } from "./status-table.ts";
import type { LiveEvent } from "./types.ts";

interface StatusDeps {
  table: StatusTable;
  clock: Pick<Clock, "now">;
  log: Log;
}

export interface StatusLog extends LiveStatusLog {
  /** Sends notifications that a crash left unsent. Call it periodically. */
  recover(): Promise<void>;
  /** Calls the listener at least once for each event until it resolves, even after a crash. */
  onEvent(listener: (event: LiveEvent) => Promise<void>): void;
}

const CONNECTED_STATES: ReadonlySet<LiveState | null> = new Set<LiveState>([
  "connected",
  "reconnected",
  "new_configuration_accepted",
]);
const MAX_TEXT_LENGTH = 500;
/** Maximum time for sending a notification; after that it counts as missed. */
const RETRY_AFTER_MS = 60_000;
const BATCH = 500;

export function createStatusLog({ table, clock, log }: StatusDeps): StatusLog {
  const listeners: ((event: LiveEvent) => Promise<void>)[] = [];

  async function notify(event: LiveEvent | undefined): Promise<void> {
    if (event === undefined) return;
    try {
      for (const listener of listeners) await listener(event);
      await table.markReported({ input: event.input, n: Number(event.id.split("-")[1]) });
    } catch (err) {
      log.warn(
        { err, input: event.input, event: event.type },
        "live: failed to send notifications of a live input, will retry",
      );
    }
  }

  return {
    onEvent: (listener) => void listeners.push(listener),
    async recordState(uid, state, { protocol, session, reason } = {}) {
      if (!isHexId(uid)) return;
      await notify(
        await table.add({
          input: uid,
          at: clock.now(),
          state,
          error: null,
          protocol: truncate(protocol),
          session: truncate(session),
          reason: truncate(reason),
          once: null,
          resolve: (before) => resolveState(before, state),
          event: (before) => eventOf(before, state),
        }),
      );
    },
    async recordError(uid, code, { message, videoCodec, audioCodec, session }) {
      if (!isHexId(uid)) return;
      const error = JSON.stringify({
        code,
        message: truncate(message),
        videoCodec: truncate(videoCodec) ?? "",
        audioCodec: truncate(audioCodec) ?? "",
      });
      const dedupKey = session === undefined ? null : `${truncate(session)} ${code}`;
      await notify(
        await table.add({
          input: uid,
          at: clock.now(),
          state: null,
          error,
          protocol: null,
          session: truncate(session),
          reason: null,
          once: dedupKey,
          event: () => "live_input.errored",
        }),
      );
    },
    async recover() {
      for (const event of await table.unreported(clock.now() - RETRY_AFTER_MS, BATCH)) await notify(event);
    },
  };
}

/** Notifications cover changes that viewers notice: video starts and video stops. */
function eventOf(before: LiveState | null, state: LiveState): LiveEvent["type"] | null {
  if (state === "connected" || state === "reconnected") return "live_input.connected";
  return CONNECTED_STATES.has(before) && !CONNECTED_STATES.has(state) ? "live_input.disconnected" : null;
}

/** A publisher rejected while its broadcast is waiting for a reconnect has failed to reconnect. */
const resolveState = (before: LiveState | null, state: LiveState): LiveState =>
  state === "failed_to_connect" && before === "reconnecting" ? "failed_to_reconnect" : state;

/** Contains client-supplied text; PostgreSQL does not accept U+0000 in text. */
const truncate = (text: string | undefined): string | null =>
  text === undefined ? null : text.replaceAll("\0", "").toWellFormed().slice(0, MAX_TEXT_LENGTH);

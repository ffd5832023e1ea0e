import { isDeepStrictEqual } from "node:util";
import { isStoreError } from "../../../store/index.ts";
import { messageOf, UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";
import type { LiveEncoding } from "../fragments.ts";
import type { LiveInput, LiveRecording, LiveState } from "../inputs/port.ts";
import type { LiveSession } from "../session.ts";
import type { BroadcastRow } from "./leases.ts";
import { ensureVideo } from "./recording-video.ts";
import { stateAfter } from "./note.ts";
import { encodeSession, openVideo, type OpenVideo } from "./open-video.ts";
import type { BroadcastDeps } from "./deps.ts";

/**
 * Controls the broadcasts of one input: its consecutive sessions and the videos that record them. Calls are processed
 * in order.
 */
export interface BroadcastController {
  session(session: LiveSession): void;
  /** Call it when the settings of the input have changed, or when it was deleted. */
  changed(): void;
  /** Takes over a broadcast left by another process or a failed attempt: it waits for its publisher, or is finished. */
  recover(row: BroadcastRow): void;
  /** Call it when another process holds the lease or, if `isDeleted`, the video has been deleted. */
  onLeaseLost(video: string, isDeleted: boolean): void;
  /** Call it when the account has reached its storage limit. */
  onStorageFull(): void;
  /**
   * Uid of the video that is open in this process; "" if the broadcast is not recorded. Undefined if no broadcast is
   * open.
   */
  open(): string | undefined;
  /** Ends the runs. Another process, or this one after a restart, resumes the broadcast. */
  close(): Promise<void>;
}

interface OpenBroadcast {
  video: string;
  /** If absent, the broadcast is neither recorded nor packaged. */
  opened?: OpenVideo | undefined;
  timeoutMs: number;
  deleteAfterDays: number | null;
  /** Access rules last applied from the input to the video. */
  rules: Pick<LiveRecording, "requireSignedURLs" | "allowedOrigins">;
  session?: LiveSession | undefined;
  encoding?: LiveEncoding | undefined;
}

export const LEASE_MS = 10_000;
const BUSY_RETRY_MS = 500;
const RECONNECT_TIMED_OUT = "The publisher did not reconnect in time";
const RETRY_MS = 1000;
const DAY_MS = 86_400_000;

const rulesOf = ({ requireSignedURLs, allowedOrigins }: LiveRecording) => ({ requireSignedURLs, allowedOrigins });

export function createBroadcastController(
  uid: string,
  owner: string,
  controllerDeps: BroadcastDeps,
  onIdle: () => void,
): BroadcastController {
  const { leases, inputs, status, videos, recordings, encoder, clock, ids, log } = controllerDeps;
  const leaseKey = { input: uid, owner };
  const closeController = new AbortController();
  let queue = Promise.resolve();
  let tasks = 0;
  let currentSession: LiveSession | undefined;
  let openBroadcast: OpenBroadcast | undefined;
  let timer = new AbortController();

  function enqueue(work: () => Promise<void>) {
    tasks++;
    queue = queue
      .then(work)
      .catch((err: unknown) => log.error({ err, input: uid }, "live: broadcast controller failed"))
      .finally(() => {
        if (--tasks === 0 && currentSession === undefined && openBroadcast === undefined) onIdle();
      });
  }

  async function noteState(state: LiveState, session?: LiveSession, reason?: string) {
    const stateDetails = {
      ...(session && { protocol: session.protocol, session: session.id }),
      ...(reason !== undefined && { reason }),
    };
    await status
      .recordState(uid, state, stateDetails)
      .catch((err: unknown) => log.error({ err, input: uid, state }, "live: failed to store the state of an input"));
  }

  /** Returns the current settings of the input; the given ones if they cannot be read. */
  const reloadInput = (before: LiveInput) => inputs.find(uid).catch(() => before);
  const timeoutOf = ({ recording }: LiveInput) =>
    (recording.timeoutSeconds === 0 ? controllerDeps.reconnectSeconds : recording.timeoutSeconds) * 1000;
  const sleepUnlessEnded = (ms: number, { signal }: LiveSession) =>
    clock.sleep(ms, AbortSignal.any([signal, closeController.signal])).catch(() => {});

  async function begin(session: LiveSession): Promise<void> {
    if (currentSession !== undefined)
      await end(currentSession, currentSession.signal.reason ?? streamErrors.livePublisherLost());
    currentSession = session;
    while (!session.signal.aborted && !closeController.signal.aborted) {
      try {
        return await start(session);
      } catch (err) {
        const isFull = isStoreError(err) && err.entry.http === 507;
        if ((err instanceof UserError && err.kind === "quotaExceeded") || isFull) return refuse(session, err);
        log.error({ err, input: uid }, "live: failed to start a broadcast, will retry");
        await sleepUnlessEnded(RETRY_MS, session);
      }
    }
  }

  async function start(session: LiveSession): Promise<void> {
    const input = (await reloadInput(session.input)) ?? session.input;
    const claimedLease = await acquireLease(session, input);
    if (claimedLease === undefined) return;
    const { video } = claimedLease;
    if (openBroadcast?.video !== video) await release(false);
    timer.abort();
    const openedVideo =
      video === ""
        ? undefined
        : (openBroadcast?.opened ?? (await openVideo(uid, video, () => currentSession?.id, controllerDeps)));
    const newBroadcast: OpenBroadcast = {
      video,
      opened: openedVideo,
      session,
      timeoutMs: timeoutOf(input),
      deleteAfterDays: input.deleteRecordingAfterDays,
      rules: rulesOf(input.recording),
    };
    openBroadcast = newBroadcast;
    log.info({ input: uid, video, session: session.id, protocol: session.protocol }, "live: broadcast started");
    await noteState(claimedLease.kind === "continued" ? "reconnected" : "connected", session);
    if (openedVideo !== undefined && !session.signal.aborted)
      newBroadcast.encoding = encodeSession(
        encoder,
        session,
        openedVideo,
        () => void noteState("new_configuration_accepted", session),
      );
  }

  /**
   * Acquires the lease of the input and finds or creates its video. Undefined: another process holds the lease, or the
   * session has ended.
   */
  async function acquireLease(
    session: LiveSession,
    input: LiveInput,
  ): Promise<{ kind: "begun" | "continued"; video: string } | undefined> {
    const requestedAt = clock.now();
    const isRecorded = input.recording.mode === "automatic";
    while (!session.signal.aborted && !closeController.signal.aborted) {
      const now = clock.now();
      const acquisition = await leases.acquire({
        ...leaseKey,
        account: input.account,
        video: isRecorded ? ids.hex() : "",
        now,
        until: now + LEASE_MS,
        timeoutMs: timeoutOf(input),
        deleteAfterDays: input.deleteRecordingAfterDays,
      });
      if (acquisition.kind === "over") await finish(acquisition.row);
      else if (acquisition.kind !== "busy") {
        if (await ensureVideo(videos, acquisition, input, session.started)) return acquisition;
        await release();
        await leases.drop(leaseKey);
      } else if (now - requestedAt <= 2 * LEASE_MS) await sleepUnlessEnded(BUSY_RETRY_MS, session);
      else {
        controllerDeps.endSession(session, streamErrors.liveInputBusy({ seconds: LEASE_MS / 1000 }));
        return undefined;
      }
    }
    return undefined;
  }

  async function refuse(session: LiveSession, err: Error) {
    log.warn({ err, input: uid }, "live: broadcast rejected, because it cannot be recorded");
    const row = await leases.find(uid).catch(() => undefined);
    if (row?.owner === owner)
      await finish(row).catch((cause: unknown) =>
        log.error({ err: cause, input: uid }, "live: failed to finish a broadcast, will retry"),
      );
    await noteState("failed_to_connect", session, err.message);
    currentSession = undefined;
    await reject(session, err.message);
  }

  async function reject(session: LiveSession, message: string): Promise<void> {
    await status
      .recordError(uid, "ERR_STORAGE_QUOTA_EXHAUSTED", { message, session: session.id })
      .catch((err: unknown) => log.error({ err, input: uid }, "live: failed to record that storage is full"));
    controllerDeps.endSession(session, streamErrors.liveNoStorage({ reason: message }));
  }

  async function end(session: LiveSession, reason: unknown): Promise<void> {
    if (currentSession !== session) return;
    currentSession = undefined;
    const broadcast = openBroadcast;
    if (broadcast?.session !== session) return;
    await stopRuns(broadcast);
    const input = await reloadInput(session.input);
    const waitsForReconnect =
      broadcast.video !== "" && input !== undefined && input.enabled && input.recording.mode === "automatic";
    const state = stateAfter(reason, waitsForReconnect);
    await noteState(state, session, messageOf(reason));
    if (!waitsForReconnect) return finishOpen(broadcast);
    // If the database fails, this process still counts as the owner.
    const isOwner = await leases
      .setEndTime(leaseKey, clock.now() + broadcast.timeoutMs)
      .catch(
        (err: unknown) => (
          log.error({ err, input: uid }, "live: failed to mark a broadcast as waiting for its publisher"),
          true
        ),
      );
    if (!isOwner) return release(false);
    finishIn(broadcast.timeoutMs, broadcast, state === "reconnecting" ? "failed_to_reconnect" : undefined);
  }

  /** Applies input changes made while the video was being created. */
  async function followRules(broadcast: OpenBroadcast, { account, recording }: LiveInput) {
    const rules = rulesOf(recording);
    if (broadcast.video === "" || isDeepStrictEqual(broadcast.rules, rules)) return;
    await videos.setAccessRules(account, uid, rules);
    broadcast.rules = rules;
  }

  function finishIn(ms: number, broadcast: OpenBroadcast, state?: LiveState) {
    timer = new AbortController();
    clock.sleep(ms, timer.signal).then(
      () => enqueue(() => finishOpen(broadcast, state)),
      () => {},
    );
  }

  async function finishOpen(broadcast: OpenBroadcast, state?: LiveState) {
    if (openBroadcast !== broadcast || broadcast.session !== undefined || closeController.signal.aborted) return;
    try {
      await finish(broadcast);
      if (state !== undefined) await noteState(state, undefined, RECONNECT_TIMED_OUT);
    } catch (err) {
      log.error({ err, input: uid, video: broadcast.video }, "live: failed to finish a broadcast, will retry");
      // A broadcast that this process no longer has open is found through its row.
      if (openBroadcast === broadcast) finishIn(RETRY_MS, broadcast, state);
    }
  }

  async function stopRuns(broadcast: OpenBroadcast) {
    broadcast.session = undefined;
    broadcast.encoding?.end();
    await broadcast.encoding?.done;
    broadcast.encoding = undefined;
    await broadcast.opened?.settled();
  }

  /** Stops the broadcast in this process without changing its row. */
  async function release(ended = true) {
    timer.abort();
    const broadcast = openBroadcast;
    openBroadcast = undefined;
    if (broadcast === undefined) return;
    await stopRuns(broadcast);
    await broadcast.opened?.close({ ended });
  }

  async function finish({ video, deleteAfterDays }: Pick<BroadcastRow, "video" | "deleteAfterDays">): Promise<void> {
    // From here on, no other process resumes it.
    const isOwner = await leases.setEndTime(leaseKey, 0);
    await release(isOwner);
    if (!isOwner) return;
    if (video !== "" && (await videos.find(video)) !== undefined) {
      const { segments, duration, size, width, height } = await recordings.finish(video);
      if (segments === 0) await videos.discard(video);
      else {
        await videos.recorded(video, {
          duration,
          size,
          input: { width, height },
          scheduledDeletion: deleteAfterDays === null ? null : clock.now() + deleteAfterDays * DAY_MS,
        });
        await controllerDeps.assemble(video);
      }
      log.info({ input: uid, video, segments, duration }, "live: broadcast ended");
    }
    await leases.drop(leaseKey);
  }

  /** Recovers the segments of a dead process before a publisher may resume the broadcast. */
  async function recover(row: BroadcastRow) {
    if (openBroadcast !== undefined || currentSession !== undefined || closeController.signal.aborted) return;
    const now = clock.now();
    if (!(await leases.adopt(row, { owner, until: now + LEASE_MS }))) return;
    const overAt = row.overAt ?? row.leaseUntil + row.timeoutMs;
    const waitsForReconnect = row.video !== "" && overAt > now;
    if (row.overAt === null)
      await noteState(
        waitsForReconnect ? "reconnecting" : "client_disconnect",
        undefined,
        "the server that received it has stopped",
      );
    if (!waitsForReconnect) {
      await finish(row);
      return row.overAt === null ? undefined : noteState("failed_to_reconnect", undefined, RECONNECT_TIMED_OUT);
    }
    await recordings.recover(row.video);
    await leases.setEndTime(leaseKey, overAt);
  }

  return {
    open: () => openBroadcast?.video,
    session(session) {
      enqueue(() => begin(session));
      const onEnd = () => enqueue(() => end(session, session.signal.reason));
      if (session.signal.aborted) onEnd();
      else session.signal.addEventListener("abort", onEnd, { once: true });
    },
    changed: () =>
      enqueue(async () => {
        const broadcast = openBroadcast;
        if (broadcast === undefined) return;
        const input = await inputs.find(uid);
        if (input !== undefined) await followRules(broadcast, input);
        if (broadcast.session !== undefined) return;
        if (input === undefined || !input.enabled || input.recording.mode === "off") await finish(broadcast);
      }),
    recover: (row) => enqueue(() => recover(row)),
    onStorageFull: () =>
      enqueue(
        async () =>
          void (currentSession !== undefined && (await reject(currentSession, "the account's storage is full"))),
      ),
    onLeaseLost: (video, hasDisappeared) =>
      enqueue(async () => {
        if (openBroadcast?.video !== video) return;
        const session = currentSession;
        await release(hasDisappeared);
        if (hasDisappeared) await leases.drop(leaseKey);
        currentSession = undefined;
        if (session !== undefined) await begin(session);
      }),
    async close() {
      closeController.abort();
      await queue;
      if (currentSession !== undefined) await end(currentSession, streamErrors.liveShuttingDown());
      timer.abort();
      const broadcast = openBroadcast;
      openBroadcast = undefined;
      await broadcast?.opened?.close({ ended: false });
    },
  };
}

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
  /** The settings of the input changed, or it was deleted. */
  changed(): void;
  /** Takes over a broadcast left by another process or a failed attempt: it waits for its publisher, or is finished. */
  recover(row: BroadcastRow): void;
  /** Another process holds the lease or, if `isDeleted`, the video has been deleted. */
  onLeaseLost(video: string, isDeleted: boolean): void;
  /** The account has reached its storage limit. */
  onStorageFull(): void;
  /**
   * Uid of the video that is open in this process; "" if the broadcast is not recorded. Undefined: no broadcast is
   * open.
   */
  open(): string | undefined;
  /** Ends the runs. Another process, or this one after a restart, resumes the broadcast. */
  close(): Promise<void>;
}

interface OpenBroadcast {
  video: string;
  /** Absent: the broadcast is neither recorded nor packaged. */
  opened?: OpenVideo | undefined;
  timeoutMs: number;
  deleteAfterDays: number | null;
  /** Access rules last applied from the input to the video. */
  rules: Pick<LiveRecording, "requireSignedURLs" | "allowedOrigins">;
  session?: LiveSession | undefined;
  encoding?: LiveEncoding | undefined;
}

export const LEASE_MS = 10_000;
const BUSY_MS = 500;
const RECONNECT_TIMED_OUT = "The publisher did not reconnect in time";
const AGAIN_MS = 1000;
const DAY = 86_400_000;

const rulesOf = ({ requireSignedURLs, allowedOrigins }: LiveRecording) => ({ requireSignedURLs, allowedOrigins });

export function createBroadcastController(
  uid: string,
  owner: string,
  parts: BroadcastDeps,
  onIdle: () => void,
): BroadcastController {
  const { leases, inputs, status, videos, recordings, encoder, clock, ids, log } = parts;
  const leaseKey = { input: uid, owner };
  const closing = new AbortController();
  let queue = Promise.resolve();
  let tasks = 0;
  let current: LiveSession | undefined;
  let open: OpenBroadcast | undefined;
  let timer = new AbortController();

  function enqueue(work: () => Promise<void>) {
    tasks++;
    queue = queue
      .then(work)
      .catch((err: unknown) => log.error({ err, input: uid }, "live: broadcast controller failed"))
      .finally(() => {
        if (--tasks === 0 && current === undefined && open === undefined) onIdle();
      });
  }

  async function note(state: LiveState, session?: LiveSession, reason?: string) {
    const about = {
      ...(session && { protocol: session.protocol, session: session.id }),
      ...(reason !== undefined && { reason }),
    };
    await status
      .recordState(uid, state, about)
      .catch((err: unknown) => log.error({ err, input: uid, state }, "live: failed to store the state of an input"));
  }

  /** The current settings of the input; the given ones if they cannot be read. */
  const inputNow = (before: LiveInput) => inputs.find(uid).catch(() => before);
  const timeoutOf = ({ recording }: LiveInput) =>
    (recording.timeoutSeconds === 0 ? parts.reconnectSeconds : recording.timeoutSeconds) * 1000;
  const pause = (ms: number, { signal }: LiveSession) =>
    clock.sleep(ms, AbortSignal.any([signal, closing.signal])).catch(() => {});

  async function begin(session: LiveSession): Promise<void> {
    if (current !== undefined) await end(current, current.signal.reason ?? streamErrors.livePublisherLost());
    current = session;
    while (!session.signal.aborted && !closing.signal.aborted) {
      try {
        return await start(session);
      } catch (err) {
        if ((err instanceof UserError && err.kind === "quotaExceeded") || isStoreError(err, "diskFull"))
          return refuse(session, err);
        log.error({ err, input: uid }, "live: failed to start a broadcast, will retry");
        await pause(AGAIN_MS, session);
      }
    }
  }

  async function start(session: LiveSession): Promise<void> {
    const input = (await inputNow(session.input)) ?? session.input;
    const taken = await acquireLease(session, input);
    if (taken === undefined) return;
    const { video } = taken;
    if (open?.video !== video) await release(false);
    timer.abort();
    const opened = video === "" ? undefined : (open?.opened ?? (await openVideo(uid, video, () => current?.id, parts)));
    const opening: OpenBroadcast = {
      video,
      opened,
      session,
      timeoutMs: timeoutOf(input),
      deleteAfterDays: input.deleteRecordingAfterDays,
      rules: rulesOf(input.recording),
    };
    open = opening;
    log.info({ input: uid, video, session: session.id, protocol: session.protocol }, "live: broadcast started");
    await note(taken.kind === "continued" ? "reconnected" : "connected", session);
    if (opened !== undefined && !session.signal.aborted)
      opening.encoding = encodeSession(
        encoder,
        session,
        opened,
        () => void note("new_configuration_accepted", session),
      );
  }

  /** Acquires the lease of the input and finds or creates its video. Undefined: another process holds the lease, or the session has ended. */
  async function acquireLease(
    session: LiveSession,
    input: LiveInput,
  ): Promise<{ kind: "begun" | "continued"; video: string } | undefined> {
    const requestedAt = clock.now();
    const recorded = input.recording.mode === "automatic";
    while (!session.signal.aborted && !closing.signal.aborted) {
      const now = clock.now();
      const taken = await leases.acquire({
        ...leaseKey,
        account: input.account,
        video: recorded ? ids.hex() : "",
        now,
        until: now + LEASE_MS,
        timeoutMs: timeoutOf(input),
        deleteAfterDays: input.deleteRecordingAfterDays,
      });
      if (taken.kind === "over") await finish(taken.row);
      else if (taken.kind !== "busy") {
        if (await ensureVideo(videos, taken, input, session.started)) return taken;
        await release();
        await leases.drop(leaseKey);
      } else if (now - requestedAt <= 2 * LEASE_MS) await pause(BUSY_MS, session);
      else {
        parts.endSession(session, streamErrors.liveInputBusy({ seconds: LEASE_MS / 1000 }));
        return undefined;
      }
    }
    return undefined;
  }

  async function refuse(session: LiveSession, err: Error) {
    log.warn({ err, input: uid }, "live: broadcast rejected, it cannot be recorded");
    const row = await leases.find(uid).catch(() => undefined);
    if (row?.owner === owner)
      await finish(row).catch((failed: unknown) =>
        log.error({ err: failed, input: uid }, "live: failed to finish a broadcast, will retry"),
      );
    await note("failed_to_connect", session, err.message);
    current = undefined;
    await reject(session, err.message);
  }

  async function reject(session: LiveSession, message: string): Promise<void> {
    await status
      .recordError(uid, "ERR_STORAGE_QUOTA_EXHAUSTED", { message, session: session.id })
      .catch((err: unknown) => log.error({ err, input: uid }, "live: failed to record that storage is full"));
    parts.endSession(session, streamErrors.liveNoStorage({ reason: message }));
  }

  async function end(session: LiveSession, reason: unknown): Promise<void> {
    if (current !== session) return;
    current = undefined;
    const was = open;
    if (was?.session !== session) return;
    await stopRuns(was);
    const input = await inputNow(session.input);
    const waits = was.video !== "" && input !== undefined && input.enabled && input.recording.mode === "automatic";
    const state = stateAfter(reason, waits);
    await note(state, session, messageOf(reason));
    if (!waits) return finishOpen(was);
    // If the database fails, this process still counts as the owner.
    const isOwner = await leases
      .setEndTime(leaseKey, clock.now() + was.timeoutMs)
      .catch(
        (err: unknown) => (
          log.error({ err, input: uid }, "live: failed to mark a broadcast as waiting for its publisher"),
          true
        ),
      );
    if (!isOwner) return release(false);
    finishIn(was.timeoutMs, was, state === "reconnecting" ? "failed_to_reconnect" : undefined);
  }

  /** Applies input changes made while the video was being created. */
  async function followRules(was: OpenBroadcast, { account, recording }: LiveInput) {
    const rules = rulesOf(recording);
    if (was.video === "" || isDeepStrictEqual(was.rules, rules)) return;
    await videos.setAccessRules(account, uid, rules);
    was.rules = rules;
  }

  function finishIn(ms: number, was: OpenBroadcast, state?: LiveState) {
    timer = new AbortController();
    clock.sleep(ms, timer.signal).then(
      () => enqueue(() => finishOpen(was, state)),
      () => {},
    );
  }

  async function finishOpen(was: OpenBroadcast, state?: LiveState) {
    if (open !== was || was.session !== undefined || closing.signal.aborted) return;
    try {
      await finish(was);
      if (state !== undefined) await note(state, undefined, RECONNECT_TIMED_OUT);
    } catch (err) {
      log.error({ err, input: uid, video: was.video }, "live: failed to finish a broadcast, will retry");
      // A broadcast that this process no longer has open is found through its row.
      if (open === was) finishIn(AGAIN_MS, was, state);
    }
  }

  async function stopRuns(was: OpenBroadcast) {
    was.session = undefined;
    was.encoding?.end();
    await was.encoding?.done;
    was.encoding = undefined;
    await was.opened?.settled();
  }

  /** Stops the broadcast in this process without changing its row. */
  async function release(ended = true) {
    timer.abort();
    const was = open;
    open = undefined;
    if (was === undefined) return;
    await stopRuns(was);
    await was.opened?.close({ ended });
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
          scheduledDeletion: deleteAfterDays === null ? null : clock.now() + deleteAfterDays * DAY,
        });
        await parts.assemble(video);
      }
      log.info({ input: uid, video, segments, duration }, "live: broadcast ended");
    }
    await leases.drop(leaseKey);
  }

  /** Recovers the segments of a dead process before a publisher may resume the broadcast. */
  async function recover(row: BroadcastRow) {
    if (open !== undefined || current !== undefined || closing.signal.aborted) return;
    const now = clock.now();
    if (!(await leases.adopt(row, { owner, until: now + LEASE_MS }))) return;
    const overAt = row.overAt ?? row.leaseUntil + row.timeoutMs;
    const waits = row.video !== "" && overAt > now;
    if (row.overAt === null)
      await note(waits ? "reconnecting" : "client_disconnect", undefined, "the server that received it has stopped");
    if (!waits) {
      await finish(row);
      return row.overAt === null ? undefined : note("failed_to_reconnect", undefined, RECONNECT_TIMED_OUT);
    }
    await recordings.recover(row.video);
    await leases.setEndTime(leaseKey, overAt);
  }

  return {
    open: () => open?.video,
    session(session) {
      enqueue(() => begin(session));
      const onEnd = () => enqueue(() => end(session, session.signal.reason));
      if (session.signal.aborted) onEnd();
      else session.signal.addEventListener("abort", onEnd, { once: true });
    },
    changed: () =>
      enqueue(async () => {
        const was = open;
        if (was === undefined) return;
        const input = await inputs.find(uid);
        if (input !== undefined) await followRules(was, input);
        if (was.session !== undefined) return;
        if (input === undefined || !input.enabled || input.recording.mode === "off") await finish(was);
      }),
    recover: (row) => enqueue(() => recover(row)),
    onStorageFull: () =>
      enqueue(async () => void (current !== undefined && (await reject(current, "the account's storage is full")))),
    onLeaseLost: (video, gone) =>
      enqueue(async () => {
        if (open?.video !== video) return;
        const session = current;
        await release(gone);
        if (gone) await leases.drop(leaseKey);
        current = undefined;
        if (session !== undefined) await begin(session);
      }),
    async close() {
      closing.abort();
      await queue;
      if (current !== undefined) await end(current, streamErrors.liveShuttingDown());
      timer.abort();
      const was = open;
      open = undefined;
      await was?.opened?.close({ ended: false });
    },
  };
}

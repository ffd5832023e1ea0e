import type { Clock, Log, UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";
import type { LiveInput, LiveInputDirectory, LiveStatusLog } from "../inputs/port.ts";
import type { PublishClaim, Publishing, RejectedPublishers } from "../publish.ts";
import type { LiveSession, LiveSessions } from "../session.ts";
import { createPublication, type OpenPublication } from "./publication.ts";

export interface HubDeps {
  inputs: Pick<LiveInputDirectory, "find" | "byPublishKey" | "bySrtStreamId" | "onChange">;
  status: LiveStatusLog;
  clock: Clock;
  log: Log;
  /** Maximum number of concurrent publishers. Default 1000. */
  maxPublishers?: number;
}

export interface Hub extends Publishing, RejectedPublishers, LiveSessions {
  /** Ends the publication of the input, if there is one, and gives the publisher the reason. */
  end(input: string, reason: UserError): void;
  /** Sets the decisions about a session that its health reports; replaces earlier notes. */
  setNotes(session: string, notes: readonly string[]): void;
  /** Ends all publications and accepts no new ones. */
  close(): void;
}

/** Seconds of silence after which another publisher may replace this one, and after which this one is disconnected. */
const TAKEOVER_SECONDS = 5;
const MAX_SILENCE_SECONDS = 60;
const CHECK_INTERVAL_MS = 10_000;
/** Encoders retry about every second: rejections are recorded at most once per minute per input. */
const REJECTION_INTERVAL_MS = 60_000;
/** An SRT stream id is not secret: clients that know only the id must not fill the history. */
const WRONG_PASSPHRASE_INTERVAL_MS = 3_600_000;
const MAX_REMEMBERED_REJECTIONS = 1000;

const WRONG_PASSPHRASE = streamErrors.livePassphraseWrong().kind;

/** Accepts publishers by their keys, one per input, and distributes their packets. */
export function createHub({ inputs, status, clock, log, maxPublishers = 1000 }: HubDeps): Hub {
  /** Keyed by uid of the input. */
  const openPublications = new Map<string, OpenPublication>();
  const listeners = new Set<(session: LiveSession) => void>();
  const closing = new AbortController();
  /** Keyed by uid of the input; times in epoch milliseconds. */
  const refusedAt = new Map<string, { at: number; kind: string }>();
  let changes = 0;

  const stopListening = inputs.onChange((uid) => {
    changes++;
    void (uid === "" ? recheckAll() : recheck(uid));
  });

  async function inputOf({ protocol, credential, passphrase }: PublishClaim): Promise<LiveInput | undefined> {
    if (protocol !== "srt") return inputs.byPublishKey(credential);
    const srtInput = await inputs.bySrtStreamId(credential);
    return srtInput?.direction === "publish" && srtInput.passphrase === passphrase ? srtInput.input : undefined;
  }

  /** Checks whether a connected publisher would still be accepted. */
  async function recheck(uid: string): Promise<void> {
    const openPublication = openPublications.get(uid);
    if (openPublication === undefined) return;
    try {
      const [input, inputOfClaim] = await Promise.all([inputs.find(uid), inputOf(openPublication.claim)]);
      if (input === undefined) openPublication.abort(streamErrors.liveInputDeleted());
      else if (!input.enabled) openPublication.abort(streamErrors.liveInputDisabled());
      else if (inputOfClaim?.uid !== uid) openPublication.abort(streamErrors.liveKeyRevoked());
      else openPublication.update(input);
    } catch (err) {
      log.error({ err, input: uid }, "live: failed to re-authorize a publisher; the broadcast continues");
    }
  }

  /** Any input may have changed. Checks them one after the other: there may be a thousand. */
  async function recheckAll(): Promise<void> {
    for (const uid of openPublications.keys()) await recheck(uid);
  }

  function recordRejection(input: LiveInput, protocol: PublishClaim["protocol"], reason: UserError) {
    const now = clock.now();
    const before = refusedAt.get(input.uid);
    const repeatInterval =
      before?.kind === reason.kind && reason.kind === WRONG_PASSPHRASE
        ? WRONG_PASSPHRASE_INTERVAL_MS
        : REJECTION_INTERVAL_MS;
    if (openPublications.get(input.uid)?.session() !== undefined || now - (before?.at ?? -Infinity) < repeatInterval)
      return;
    if (refusedAt.size >= MAX_REMEMBERED_REJECTIONS) refusedAt.clear();
    refusedAt.set(input.uid, { at: now, kind: reason.kind });
    status
      .recordState(input.uid, "failed_to_connect", { protocol, reason: reason.message })
      .catch((err: unknown) => log.error({ err, input: input.uid }, "live: failed to log a rejected publisher"));
  }

  function admit(input: LiveInput) {
    const before = openPublications.get(input.uid);
    if (before !== undefined) {
      if (clock.now() - before.lastActiveAt() < TAKEOVER_SECONDS * 1000)
        throw streamErrors.liveInputBusy({ seconds: TAKEOVER_SECONDS });
      before.abort(streamErrors.liveReplaced({ seconds: TAKEOVER_SECONDS }));
    } else if (openPublications.size >= maxPublishers) throw streamErrors.liveTooMany({ limit: maxPublishers });
  }

  function announce(session: LiveSession) {
    // A rejection after this broadcast is recorded again.
    refusedAt.delete(session.input.uid);
    for (const listener of listeners) {
      try {
        listener(session);
      } catch (err) {
        log.error({ err, input: session.input.uid }, "live: failed to accept a publisher");
      }
    }
  }

  async function watchSilence() {
    while (!closing.signal.aborted) {
      await clock.sleep(CHECK_INTERVAL_MS, closing.signal);
      for (const openPublication of openPublications.values())
        if (clock.now() - openPublication.lastActiveAt() > MAX_SILENCE_SECONDS * 1000)
          openPublication.abort(streamErrors.livePublisherSilent({ seconds: MAX_SILENCE_SECONDS }));
    }
  }
  watchSilence().catch(() => {});

  const sessionOf = (uid: string) => openPublications.get(uid)?.session();

  return {
    async publish(claim) {
      const before = changes;
      const input = await inputOf(claim);
      if (closing.signal.aborted) throw streamErrors.liveShuttingDown();
      if (input === undefined) throw streamErrors.liveKeyUnknown();
      if (!input.enabled) {
        const reason = streamErrors.liveInputDisabled();
        recordRejection(input, claim.protocol, reason);
        throw reason;
      }
      admit(input);
      const openPublication = createPublication({
        input,
        claim,
        status,
        clock,
        log,
        onSession: announce,
        onRejected: (reason) => recordRejection(input, claim.protocol, reason),
        onEnd() {
          if (openPublications.get(input.uid) === openPublication) openPublications.delete(input.uid);
        },
      });
      openPublications.set(input.uid, openPublication);
      // The input changed during the lookup, which may have returned the old state.
      if (changes !== before) void recheck(input.uid);
      return openPublication.publication;
    },
    recordRejection,
    of: sessionOf,
    all: () => [...openPublications.keys()].flatMap((uid) => sessionOf(uid) ?? []),
    onSession(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    end: (input, reason) => openPublications.get(input)?.abort(reason),
    setNotes(session, notes) {
      for (const openPublication of openPublications.values())
        if (openPublication.session()?.id === session) openPublication.setNotes(notes);
    },
    close() {
      closing.abort();
      stopListening();
      for (const openPublication of openPublications.values()) openPublication.abort(streamErrors.liveShuttingDown());
    },
  };
}

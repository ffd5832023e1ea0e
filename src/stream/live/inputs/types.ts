import type { Page, PageRequest } from "../../../kernel/index.ts";
import type { LiveEventType } from "../../webhooks/index.ts";
import type { LiveErrorCode, LiveInput, LiveOutput, LiveOutputs, LiveRecording, LiveState } from "./port.ts";

/** Everything that may be said of an input; what is not said stays as it is, or as it is by default. */
export interface LiveInputChange {
  meta?: Record<string, string>;
  enabled?: boolean;
  preferLowLatency?: boolean;
  defaultCreator?: string | null;
  deleteRecordingAfterDays?: number | null;
  recording?: Partial<LiveRecording>;
}

/** What lets publish and play, by whatever protocol; told to whoever owns the input. */
export interface LiveKeys {
  publish: string;
  playback: string;
}

/** An input as its owner sees it. */
export interface OwnedLiveInput {
  input: LiveInput;
  keys: LiveKeys;
  status: LiveState | null;
  /** Since when; null with a status of null. */
  statusAt: number | null;
}

export interface LiveInputs {
  /**
   * `idempotencyKey`: for six hours the same key of the same account gives the same input, as it is by then. Throws badParameter, and
   * liveKeyOfDeleted where that input is gone.
   */
  create(account: string, said: LiveInputChange, options?: { idempotencyKey?: string }): Promise<OwnedLiveInput>;
  /** Throws liveInputNotFound, as all that follow. */
  get(account: string, uid: string): Promise<OwnedLiveInput>;
  /** Newest first. */
  list(account: string, page: PageRequest): Promise<Page<LiveInput>>;
  /** Throws badParameter. */
  update(account: string, uid: string, change: LiveInputChange): Promise<OwnedLiveInput>;
  /** With its outputs, its history and its keys; recordings stay. */
  delete(account: string, uid: string): Promise<void>;
  /** Other keys from now on. */
  rotateKeys(account: string, uid: string): Promise<OwnedLiveInput>;
  /** Newest first; of each input the last 500 are kept. */
  history(account: string, uid: string, page: PageRequest): Promise<Page<LiveHistoryEntry>>;
}

/** One thing that became of an input: another state, or something that was wrong. */
export interface LiveHistoryEntry {
  /** From 1, by input. */
  n: number;
  at: number;
  /** Null: an error, which changes no state. */
  state: LiveState | null;
  error: { code: LiveErrorCode; message: string; videoCodec: string; audioCodec: string } | null;
  protocol: string | null;
  session: string | null;
  reason: string | null;
}

/** Something of an input that its owner may want to hear of. */
export interface LiveEvent {
  /** The same each time it is told. */
  id: string;
  type: LiveEventType;
  account: string;
  input: string;
  at: number;
  error: LiveHistoryEntry["error"];
}

/** The outputs of an input, as the API changes them. Throws liveInputNotFound and liveOutputNotFound. */
export interface OwnedLiveOutputs extends LiveOutputs {
  of(account: string, input: string): Promise<LiveOutput[]>;
  /** Throws badParameter, liveTooManyOutputs. */
  create(
    account: string,
    input: string,
    output: { url: string; streamKey: string; enabled: boolean },
  ): Promise<LiveOutput>;
  setEnabled(account: string, input: string, output: string, enabled: boolean): Promise<LiveOutput>;
  delete(account: string, input: string, output: string): Promise<void>;
}

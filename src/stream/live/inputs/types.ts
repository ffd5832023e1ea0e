import type { VideoMeta } from "../../videos/index.ts";
import type { Page, PageRequest } from "../../../kernel/index.ts";
import type { LiveEventType } from "../../webhooks/index.ts";
import type { LiveErrorCode, LiveInput, LiveOutput, LiveOutputs, LiveRecording, LiveState } from "./port.ts";

/** All settings of an input; omitted ones keep their value or are set to the default. */
export interface LiveInputChange {
  meta?: VideoMeta;
  enabled?: boolean;
  preferLowLatency?: boolean;
  defaultCreator?: string | null;
  deleteRecordingAfterDays?: number | null;
  recording?: Partial<LiveRecording>;
}

/** Credentials for publishing and playback, for every protocol; shown to the owner. */
export interface LiveKeys {
  publish: string;
  playback: string;
}

/** An input as its owner sees it. */
export interface OwnedLiveInput {
  input: LiveInput;
  keys: LiveKeys;
  status: LiveState | null;
  /** Time of the status; null with a status of null. */
  statusAt: number | null;
}

interface LiveInputOrigin {
  idempotencyKey?: string;
  uid?: string | undefined;
  keys?: LiveKeys | undefined;
}

export interface LiveInputs {
  /**
   * `idempotencyKey`: for six hours, the same key of the same account returns the same input in its current state.
   * `uid` and `keys`: set for an imported input; random by default. Throws badParameter, idTaken, and
   * liveKeyOfDeleted if that input was deleted.
   */
  create(account: string, change: LiveInputChange, options?: LiveInputOrigin): Promise<OwnedLiveInput>;
  /** Throws liveInputNotFound, like all methods below. */
  get(account: string, uid: string): Promise<OwnedLiveInput>;
  /** Newest first. */
  list(account: string, page: PageRequest): Promise<Page<LiveInput>>;
  /** Throws badParameter. */
  update(account: string, uid: string, change: LiveInputChange): Promise<OwnedLiveInput>;
  /** Also deletes its outputs, history and keys; recordings are kept. */
  delete(account: string, uid: string): Promise<void>;
  /** Replaces the keys. */
  rotateKeys(account: string, uid: string): Promise<OwnedLiveInput>;
  /** Newest first; the last 500 entries of each input are stored. */
  history(account: string, uid: string, page: PageRequest): Promise<Page<LiveHistoryEntry>>;
}

/** A history entry of an input: a new state, or an error. */
export interface LiveHistoryEntry {
  /** From 1, per input. */
  n: number;
  at: number;
  /** Null if the entry is an error, which does not change the state. */
  state: LiveState | null;
  error: { code: LiveErrorCode; message: string; videoCodec: string; audioCodec: string } | null;
  protocol: string | null;
  session: string | null;
  reason: string | null;
}

/** An event of an input that its owner may want to receive. */
export interface LiveEvent {
  /** The same for every delivery attempt. */
  id: string;
  type: LiveEventType;
  account: string;
  input: string;
  at: number;
  error: LiveHistoryEntry["error"];
}

/** Outputs of an input, as changed through the API. Throws liveInputNotFound and liveOutputNotFound. */
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

import {
  EXTENSION,
  EXTENSION_FIELD,
  SRT_FLAG,
  type Handshake,
  readCapabilities,
  readPaddedText,
  type SrtCapabilities,
  type SrtExtension,
  writeCapabilities,
} from "./handshake.ts";
import type { SrtRejection } from "./rejections.ts";

/** A caller's request in its conclusion. */
export interface HandshakeRequest {
  streamId: string;
  abilities: SrtCapabilities;
  /** Key message; undefined if unencrypted. */
  keys: Buffer | undefined;
}

/** 1.5.0 is the oldest version whose rejections have human-readable reasons. */
const OUR_VERSION = 0x01_05_00;
/** The first SRT version with handshake version 5. */
const OLDEST_VERSION = 0x01_03_00;
const MAX_STREAM_ID_LENGTH = 512;
const MAX_DELAY_MS = 10_000;

/**
 * Reads a caller's request. Rejects version 4, files, groups and packet filters, none of which suit a live broadcast
 * from one sender.
 */
export function readHandshakeRequest({ version, extensions }: Handshake): HandshakeRequest | SrtRejection {
  const find = (type: number): SrtExtension | undefined => extensions.find((extension) => extension.type === type);
  const request = find(EXTENSION.request);
  const abilities = request && readCapabilities(request.body);
  if (version !== 5 || abilities === undefined || abilities.version < OLDEST_VERSION) return "version";
  if ((abilities.flags & SRT_FLAG.stream) !== 0) return "messageApi";
  const congestion = find(EXTENSION.congestion);
  if (congestion !== undefined && readPaddedText(congestion.body) !== "live") return "congestion";
  if (find(EXTENSION.filter) !== undefined) return "filter";
  if (find(EXTENSION.group) !== undefined) return "group";
  const streamId = find(EXTENSION.streamId);
  if (streamId !== undefined && streamId.body.length > MAX_STREAM_ID_LENGTH) return "badRequest";
  return {
    streamId: streamId === undefined ? "" : readPaddedText(streamId.body),
    abilities,
    keys: find(EXTENSION.keyRequest)?.body,
  };
}

/** Returns the longer of the two requested latencies (section 4.4) for each direction. */
export function agree(requested: SrtCapabilities, latencyMs: number): { receiver: number; sender: number } {
  const negotiateDelay = (peerDelayMs: number) => Math.min(MAX_DELAY_MS, Math.max(latencyMs, peerDelayMs));
  return { receiver: negotiateDelay(requested.senderDelay), sender: negotiateDelay(requested.receiverDelay) };
}

/** Extensions of the response to a conclusion. */
export function responseExtensions(
  { abilities, keys }: HandshakeRequest,
  latency: { receiver: number; sender: number },
): { field: number; extensions: SrtExtension[] } {
  const flags =
    SRT_FLAG.sendsInTime |
    SRT_FLAG.receivesInTime |
    SRT_FLAG.encrypts |
    SRT_FLAG.dropsLate |
    SRT_FLAG.repeatsLosses |
    (abilities.flags & SRT_FLAG.marksResent);
  const response = {
    type: EXTENSION.response,
    body: writeCapabilities({
      version: OUR_VERSION,
      flags,
      receiverDelay: latency.receiver,
      senderDelay: latency.sender,
    }),
  };
  if (keys === undefined) return { field: EXTENSION_FIELD.handshake, extensions: [response] };
  // Repeating the key message confirms the keys.
  return {
    field: EXTENSION_FIELD.handshake | EXTENSION_FIELD.key,
    extensions: [response, { type: EXTENSION.keyResponse, body: keys }],
  };
}

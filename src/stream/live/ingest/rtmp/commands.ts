import {
  type AmfObject,
  amfObject,
  CHUNK_STREAM,
  MESSAGE,
  type RtmpCommand,
  type RtmpPeer,
  writeU32,
  USER_CONTROL,
  userControl,
  writeAmf0,
  writeCommand,
  writeStatus,
} from "../../../../protocol/rtmp/index.ts";

/** Server responses in RTMP. */
export interface RtmpResponses {
  /** Sends the response to `connect`: windows, chunk size, and success. */
  connected(command: RtmpCommand): void;
  result(command: RtmpCommand, value?: number): void;
  status(level: "status" | "error", code: string, description: string): void;
  streamBegins(): void;
  streamEnds(): void;
  metadata(properties: AmfObject): void;
  onFcPublish(name: string): void;
}

/** Id of the only message stream of a connection. */
export const MESSAGE_STREAM_ID = 1;
/** Octets after which the peer must acknowledge. */
const ACK_WINDOW_BYTES = 2_500_000;
/** Larger than most frames, and small enough for clients with a buffer of that size. */
const CHUNK_SIZE = 65_536;
/** From RTMP 1.0, 7.2.1.1; clients expect these values. */
const SERVER_PROPERTIES = { fmsVer: "FMS/3,0,1,123", capabilities: 31 };
const DYNAMIC_BANDWIDTH_LIMIT = 2;
/** Enhanced RTMP v2: forwarded codecs, and supported packet modifiers. */
const CAN_FORWARD = 4;
const ENHANCED_CAPABILITIES = {
  capsEx: 4,
  videoFourCcInfoMap: { avc1: CAN_FORWARD, hvc1: CAN_FORWARD, av01: CAN_FORWARD, vp08: CAN_FORWARD, vp09: CAN_FORWARD },
  audioFourCcInfoMap: { mp4a: CAN_FORWARD, Opus: CAN_FORWARD, ".mp3": CAN_FORWARD },
};

export function createRtmpResponses(peer: RtmpPeer): RtmpResponses {
  const command = (data: Buffer) =>
    peer.send(CHUNK_STREAM.command, { type: MESSAGE.command, stream: 0, time: 0, data });

  return {
    connected({ transaction, object }) {
      peer.control(MESSAGE.windowSize, writeU32(ACK_WINDOW_BYTES));
      peer.control(
        MESSAGE.peerBandwidth,
        Buffer.concat([writeU32(ACK_WINDOW_BYTES), Buffer.from([DYNAMIC_BANDWIDTH_LIMIT])]),
      );
      peer.setChunkSize(CHUNK_SIZE);
      const isEnhanced =
        Array.isArray(object?.["fourCcList"]) || amfObject(object?.["videoFourCcInfoMap"]) !== undefined
          ? ENHANCED_CAPABILITIES
          : {};
      const properties = {
        level: "status",
        code: "NetConnection.Connect.Success",
        description: "Connected.",
        objectEncoding: 0,
      };
      command(writeCommand("_result", transaction, { ...SERVER_PROPERTIES, ...isEnhanced }, properties));
    },
    result: ({ transaction }, value) => command(writeCommand("_result", transaction, null, value)),
    status: (level, code, description) =>
      peer.send(CHUNK_STREAM.status, {
        type: MESSAGE.command,
        stream: MESSAGE_STREAM_ID,
        time: 0,
        data: writeStatus(level, code, description),
      }),
    streamBegins: () => peer.control(MESSAGE.userControl, userControl(USER_CONTROL.streamBegin, MESSAGE_STREAM_ID)),
    streamEnds: () => peer.control(MESSAGE.userControl, userControl(USER_CONTROL.streamEof, MESSAGE_STREAM_ID)),
    metadata: (properties) =>
      peer.send(CHUNK_STREAM.status, {
        type: MESSAGE.data,
        stream: MESSAGE_STREAM_ID,
        time: 0,
        data: writeAmf0("onMetaData", properties),
      }),
    onFcPublish: (name) =>
      command(
        writeCommand("onFCPublish", 0, null, { level: "status", code: "NetStream.Publish.Start", description: name }),
      ),
  };
}

/** Returns the stream key from the stream name, without anything that some clients append to it. */
export const streamKeyOf = (name: unknown): string =>
  typeof name === "string" ? name.replace(/^\/+|\?.*$/g, "").slice(0, 512) : "";

import { RTCPeerConnection, RTCRtpCodecParameters, useNACK, usePLI } from "werift";
import type { Viewer } from "./hls.ts";

export interface CountingViewer extends Viewer {
  /** Received octets; for WebRTC only those of video packets, because audio is transcoded to an unknown bitrate. */
  received(): number;
}

const VIDEO_PAYLOAD_TYPE = 102;
const TRIES = 3;
const CONNECT_MS = 10_000;

/** A WHEP viewer. On a busy machine, the client may exceed its handshake timeout, so it retries. */
export async function openWhepViewer(url: string): Promise<CountingViewer> {
  for (let tries = 1; ; tries++) {
    try {
      return await connectOverWhep(url);
    } catch (err) {
      if (tries === TRIES) throw err;
    }
  }
}

async function connectOverWhep(url: string): Promise<CountingViewer> {
  const connection = createConnection();
  for (const kind of ["video", "audio"] as const) connection.addTransceiver(kind, { direction: "recvonly" });
  await connection.setLocalDescription(await connection.createOffer());
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/sdp" },
    body: connection.localDescription!.sdp,
  });
  const answer = await response.text();
  if (response.status !== 201) throw new Error(`WHEP returned ${response.status}: ${answer}`);
  return countMedia(connection, () => connection.setRemoteDescription({ type: "answer", sdp: answer }));
}

export const createConnection = () =>
  new RTCPeerConnection({
    codecs: {
      video: [
        new RTCRtpCodecParameters({
          mimeType: "video/H264",
          clockRate: 90_000,
          payloadType: VIDEO_PAYLOAD_TYPE,
          rtcpFeedback: [useNACK(), usePLI()],
          parameters: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
        }),
      ],
      audio: [new RTCRtpCodecParameters({ mimeType: "audio/opus", clockRate: 48_000, channels: 2, payloadType: 111 })],
    },
    iceServers: [],
    iceUseIpv4: false,
    iceUseIpv6: false,
    iceAdditionalHostAddresses: ["127.0.0.1"],
    bundlePolicy: "max-bundle",
  });

/**
 * Waits for the connection that `connect` starts. From then on, packets are counted but not decrypted, so that one
 * process can run many viewers.
 */
export async function countMedia(
  connection: RTCPeerConnection,
  connect: () => Promise<unknown>,
): Promise<CountingViewer> {
  const connected = new Promise<void>((resolve, reject) =>
    connection.connectionStateChange.subscribe((state) => {
      if (state === "connected") resolve();
      if (state === "failed") reject(new Error("a WebRTC viewer did not connect"));
    }),
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("a WebRTC viewer did not connect in time")), CONNECT_MS);
  });
  try {
    await connect();
    await Promise.race([connected, late]);
  } catch (err) {
    await connection.close();
    throw err;
  } finally {
    clearTimeout(timer);
  }
  let octets = 0;
  connection.dtlsTransports[0]!.srtp.decrypt = (data: Buffer) => {
    if ((data[1]! & 0x7f) === VIDEO_PAYLOAD_TYPE) octets += data.length;
    // werift drops packets with an unknown SSRC and payload type.
    return UNKNOWN_STREAM;
  };
  return { received: () => octets, close: () => void connection.close() };
}

const UNKNOWN_STREAM = Buffer.from([0x80, 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

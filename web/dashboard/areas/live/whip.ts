/** A broadcast that this page sends (RFC 9725). */
export interface Broadcast {
  /** Ends the session on the server; the tracks of the stream keep running. */
  stop(): Promise<void>;
}

/** Host candidates are gathered immediately; slower ones are not needed to reach a server. */
const GATHERING_TIMEOUT_MS = 1000;
const VIDEO_BITRATE = 2_500_000;

/**
 * Sends `stream` to the WHIP endpoint at `url`. Rejects with the text of the server if it refuses. `onLost`: the
 * connection failed later; called at most once, and not after `stop`.
 */
export async function broadcast(url: string, stream: MediaStream, onLost: () => void): Promise<Broadcast> {
  const peer = new RTCPeerConnection();
  let session: string | undefined;
  let isStopped = false;

  async function stop(): Promise<void> {
    if (isStopped) return;
    isStopped = true;
    peer.close();
    // A server that cannot be reached ends the session after a timeout.
    if (session !== undefined) await fetch(session, { method: "DELETE", keepalive: true }).catch(() => undefined);
  }

  peer.addEventListener("connectionstatechange", () => {
    if (isStopped || (peer.connectionState !== "failed" && peer.connectionState !== "closed")) return;
    void stop();
    onLost();
  });
  try {
    for (const track of stream.getTracks())
      peer.addTransceiver(track, {
        direction: "sendonly",
        streams: [stream],
        ...(track.kind === "video" && { sendEncodings: [{ maxBitrate: VIDEO_BITRATE }] }),
      });
    await peer.setLocalDescription();
    await waitForIceGathering(peer);
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/sdp" },
      body: peer.localDescription!.sdp,
    });
    const text = await response.text();
    if (response.status !== 201)
      throw new Error(text.slice(0, 500) || `The server returned status ${response.status}. Try again.`);
    const location = response.headers.get("location");
    if (location !== null) session = new URL(location, response.url || url).href;
    await peer.setRemoteDescription({ type: "answer", sdp: text });
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

function waitForIceGathering(peer: RTCPeerConnection): Promise<void> {
  if (peer.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((resolve) => {
    setTimeout(resolve, GATHERING_TIMEOUT_MS);
    peer.addEventListener("icegatheringstatechange", () => {
      if (peer.iceGatheringState === "complete") resolve();
    });
  });
}

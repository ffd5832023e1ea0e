/** A broadcast over WebRTC (draft-ietf-wish-whep). */
export interface Whep {
  close(): void;
}

/** Host candidates are gathered immediately; slower ones are not needed to reach a server. */
const GATHERING_TIMEOUT_MS = 1000;
/** A disturbed connection recovers within this time or not at all. */
const DISCONNECT_TIMEOUT_MS = 5000;

/**
 * Plays the current broadcast in `video`. `onLost`: the broadcast ended or never started; passes the HTTP status if
 * there is one. Called once, and not after `close`.
 */
export function playWhep(video: HTMLVideoElement, address: string, onLost: (status?: number) => void): Whep {
  const peer = new RTCPeerConnection();
  const abort = new AbortController();
  const stream = new MediaStream();
  let session: string | undefined;
  let disconnectTimer: ReturnType<typeof setTimeout> | undefined;

  // The empty stream is set from the beginning, so that an earlier play() call remains effective.
  video.srcObject = stream;
  for (const kind of ["video", "audio"]) peer.addTransceiver(kind, { direction: "recvonly" });
  peer.addEventListener("track", ({ track, receiver }) => {
    stream.addTrack(track);
    // Disables the jitter buffer: late packets are dropped.
    if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0;
  });
  peer.addEventListener("connectionstatechange", () => {
    clearTimeout(disconnectTimer);
    if (peer.connectionState === "failed" || peer.connectionState === "closed") failSession();
    if (peer.connectionState === "disconnected") disconnectTimer = setTimeout(failSession, DISCONNECT_TIMEOUT_MS);
  });

  function failSession(status?: number): void {
    if (abort.signal.aborted) return;
    close();
    onLost(status);
  }

  function close(): void {
    if (abort.signal.aborted) return;
    abort.abort();
    clearTimeout(disconnectTimer);
    peer.close();
    for (const track of stream.getTracks()) track.stop();
    if (session !== undefined) fetch(session, { method: "DELETE", keepalive: true }).catch(() => {});
  }

  async function connect(): Promise<void> {
    await peer.setLocalDescription();
    await waitForGathering(peer);
    if (abort.signal.aborted) return;
    const response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/sdp" },
      body: peer.localDescription!.sdp,
      signal: abort.signal,
    });
    const location = response.headers.get("location");
    if (response.status !== 201) return failSession(response.status);
    if (location !== null) session = new URL(location, response.url || address).href;
    await peer.setRemoteDescription({ type: "answer", sdp: await response.text() });
  }
  connect().catch(() => failSession());

  return { close };
}

function waitForGathering(peer: RTCPeerConnection): Promise<void> {
  if (peer.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((resolve) => {
    setTimeout(resolve, GATHERING_TIMEOUT_MS);
    peer.addEventListener("icegatheringstatechange", () => {
      if (peer.iceGatheringState === "complete") resolve();
    });
  });
}

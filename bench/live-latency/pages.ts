import { CLOCK_SCRIPT } from "./clock.ts";

/** `play(url)` starts playback with the default configuration of hls.js, except for `lowLatencyMode`. */
export const HLS_PAGE = `<!doctype html><video muted width="320"></video><script src="/hls.js"></script><script>
  const video = document.querySelector("video");
  async function play(url) {
    const hls = new Hls({ lowLatencyMode: true });
    hls.loadSource(url);
    hls.attachMedia(video);
    await video.play();
  }
</script>`;

/** `publish(url)` sends the clock over WHIP, `play(url)` plays WHEP without a jitter buffer, as the player does. */
export const WEBRTC_PAGE = `<!doctype html><video muted autoplay playsinline width="320"></video><script>${CLOCK_SCRIPT}
  const video = document.querySelector("video");
  async function exchange(url, peer) {
    await peer.setLocalDescription(await peer.createOffer());
    await new Promise((done) => {
      if (peer.iceGatheringState === "complete") done();
      peer.addEventListener("icegatheringstatechange", () => peer.iceGatheringState === "complete" && done());
    });
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/sdp" }, body: peer.localDescription.sdp });
    if (response.status !== 201) throw new Error(response.status + " " + (await response.text()));
    await peer.setRemoteDescription({ type: "answer", sdp: await response.text() });
    await new Promise((done, fail) => {
      const onState = () => peer.connectionState === "connected" ? done() : peer.connectionState === "failed" && fail(new Error("no connection"));
      peer.addEventListener("connectionstatechange", onState);
      onState();
    });
  }
  async function publish(url) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [640, 360];
    const context = canvas.getContext("2d");
    paint(context, 640, 360);
    setInterval(() => paint(context, 640, 360), 1000 / 30);
    const peer = new RTCPeerConnection();
    const [track] = canvas.captureStream(30).getVideoTracks();
    const sender = peer.addTransceiver(track, { direction: "sendonly" });
    const codecs = RTCRtpSender.getCapabilities("video").codecs;
    sender.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType === "video/H264"));
    await exchange(url, peer);
  }
  async function play(url) {
    const peer = new RTCPeerConnection();
    peer.addTransceiver("video", { direction: "recvonly" });
    peer.addTransceiver("audio", { direction: "recvonly" });
    peer.addEventListener("track", ({ track, receiver }) => {
      receiver.jitterBufferTarget = 0;
      if (track.kind === "video") video.srcObject = new MediaStream([track]);
    });
    await exchange(url, peer);
    await video.play();
  }
</script>`;

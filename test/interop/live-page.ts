/** A page that plays broadcasts with hls.js from /hls.js and by WHEP, and publishes by WHIP. */
export const LIVE_PAGE = `<!doctype html><video muted autoplay playsinline></video><script src="/hls.js"></script><script>
  const video = document.querySelector("video");
  const problems = [];
  const until = async (what, met) => {
    for (const began = Date.now(); !met(); ) {
      if (Date.now() - began > 50000) throw new Error("timed out waiting for " + what + " at " + video.currentTime + " s, " + JSON.stringify(problems));
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  /** Plays three seconds of the live broadcast. */
  async function live(url) {
    const hls = new Hls({ enableWorker: false, lowLatencyMode: true });
    hls.on(Hls.Events.ERROR, (_name, { fatal, type, details, error }) => fatal && problems.push(type + " " + details + " " + error?.message));
    hls.loadSource(url);
    hls.attachMedia(video);
    await video.play();
    await until("playing", () => video.currentTime > 0);
    const from = video.currentTime;
    await until("three seconds", () => video.currentTime > from + 3);
    return { problems, parts: hls.latestLevelDetails?.partList?.length ?? 0, latency: hls.latency, levels: hls.levels.map(({ height }) => height), width: video.videoWidth };
  }
  async function exchange(url, peer) {
    await peer.setLocalDescription(await peer.createOffer());
    await until("ICE candidates", () => peer.iceGatheringState === "complete");
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/sdp" }, body: peer.localDescription.sdp });
    if (response.status !== 201) throw new Error(response.status + " " + (await response.text()));
    await peer.setRemoteDescription({ type: "answer", sdp: await response.text() });
    await until("a connection", () => peer.connectionState === "connected");
    return new URL(response.headers.get("location"), url).href;
  }
  let session;
  async function publish(url) {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true, video: { width: 640, height: 360 } });
    const peer = new RTCPeerConnection();
    for (const track of stream.getTracks()) {
      const transceiver = peer.addTransceiver(track, { direction: "sendonly" });
      if (track.kind === "video") transceiver.setCodecPreferences(RTCRtpSender.getCapabilities("video").codecs.filter(({ mimeType }) => mimeType === "video/H264"));
    }
    session = await exchange(url, peer);
  }
  const unpublish = async () => (await fetch(session, { method: "DELETE" })).status;
  async function whep(url) {
    const peer = new RTCPeerConnection();
    for (const kind of ["video", "audio"]) peer.addTransceiver(kind, { direction: "recvonly" });
    const stream = new MediaStream();
    peer.addEventListener("track", ({ track }) => stream.addTrack(track));
    await exchange(url, peer);
    video.srcObject = stream;
    video.peer = peer;
    await video.play();
    await until("playing", () => video.currentTime > 2);
    return { kinds: stream.getTracks().map(({ kind }) => kind).sort(), width: video.videoWidth };
  }
</script>`;

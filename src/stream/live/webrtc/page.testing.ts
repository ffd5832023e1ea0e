/** Runs in the page: a minimal hand-written publisher and player. */
export const PAGE_SCRIPT = `
  window.post = (url, body, headers) => fetch(url, { method: "POST", headers: { "content-type": "application/sdp", ...headers }, body });
  window.publish = async (url, { codec = "video/H264", video = { width: 320, height: 180, frameRate: 25 }, audio = true, way = false } = {}) => {
    const stream = video === "clock" ? clock() : await navigator.mediaDevices.getUserMedia({ video, audio });
    const pc = window.publisher = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    for (const track of stream.getTracks()) {
      const transceiver = pc.addTransceiver(track, { direction: "sendonly", streams: [stream] });
      if (track.kind === "video") transceiver.setCodecPreferences(RTCRtpSender.getCapabilities("video").codecs.filter(({ mimeType }) => mimeType === codec || mimeType === "video/rtx"));
    }
    await pc.setLocalDescription(await pc.createOffer());
    const response = await post(url, pc.localDescription.sdp);
    window.answer = { status: response.status, location: response.headers.get("location"), etag: response.headers.get("etag"), version: response.headers.get("protocol-version"), sdp: await response.text() };
    window.offered = pc.localDescription.sdp;
    if (response.status === 201 && !way) await pc.setRemoteDescription({ type: "answer", sdp: answer.sdp });
    return answer;
  };
  window.through = (sdp, port) => sdp.replace(/(a=candidate:\\S+ 1 udp \\d+ 127\\.0\\.0\\.1) \\d+/g, "$1 " + port);
  window.play = async (url, { way = false } = {}) => {
    const began = performance.now();
    const pc = window.viewer = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    const element = document.querySelector("video");
    element.srcObject = new MediaStream();
    pc.ontrack = ({ track }) => element.srcObject.addTrack(track);
    pc.addTransceiver("video", { direction: "recvonly" });
    pc.addTransceiver("audio", { direction: "recvonly" });
    await pc.setLocalDescription(await pc.createOffer());
    const response = await post(url, pc.localDescription.sdp);
    const sdp = await response.text();
    if (response.status !== 201) return { status: response.status, sdp };
    element.requestVideoFrameCallback(() => { window.firstFrame = performance.now() - began; });
    if (!way) await pc.setRemoteDescription({ type: "answer", sdp });
    return { status: response.status, location: response.headers.get("location"), sdp };
  };
  // Draws frames that contain the time of drawing: sixteen bits of milliseconds, as black and white blocks.
  window.clock = () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 180 });
    const context = canvas.getContext("2d", { alpha: false });
    setInterval(() => {
      const now = Math.round(performance.now()) & 0xffff;
      for (let bit = 0; bit < 16; bit++) {
        context.fillStyle = (now >> bit) & 1 ? "#fff" : "#000";
        context.fillRect((bit % 8) * 40, bit < 8 ? 0 : 90, 40, 90);
      }
    }, 33);
    return canvas.captureStream(30);
  };
  window.latencies = [];
  window.readClock = () => {
    const element = document.querySelector("video");
    const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 180 });
    const context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
    const read = () => {
      context.drawImage(element, 0, 0, 320, 180);
      let then = 0;
      for (let bit = 0; bit < 16; bit++) if (context.getImageData((bit % 8) * 40 + 20, bit < 8 ? 45 : 135, 1, 1).data[0] > 127) then |= 1 << bit;
      latencies.push((Math.round(performance.now()) - then) & 0xffff);
      element.requestVideoFrameCallback(read);
    };
    element.requestVideoFrameCallback(read);
  };
  window.received = async () => {
    const found = {};
    for (const report of (await viewer.getStats()).values()) if (report.type === "inbound-rtp") found[report.kind] = { nacks: report.nackCount, plis: report.pliCount, frames: report.framesDecoded, packets: report.packetsReceived, freezes: report.freezeCount, samples: report.totalSamplesReceived, concealed: report.concealedSamples };
    return found;
  };
  window.sent = async () => [...(await publisher.getStats()).values()].find(({ type, kind }) => type === "outbound-rtp" && kind === "video").framesSent;
`;

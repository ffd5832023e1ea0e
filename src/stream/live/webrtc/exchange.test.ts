import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { RTCPeerConnection } from "werift";
import { streamErrors } from "../../errors.ts";
import { newCertificate } from "./peers.ts";
import { createSmallHub, sendInvalidDatagrams, startWebrtc, until } from "./webrtc.testing.ts";

/** Resolves with an offer as created by a client. */
async function someOffer(
  t: TestContext,
  kinds: readonly ("video" | "audio")[] = ["video", "audio"],
): Promise<{ pc: RTCPeerConnection; sdp: string }> {
  const pc = new RTCPeerConnection({
    certificates: [newCertificate()],
    iceLite: true,
    iceUseIpv4: false,
    iceUseIpv6: false,
    iceAdditionalHostAddresses: ["127.0.0.1"],
  });
  t.after(() => pc.close());
  for (const kind of kinds) pc.addTransceiver(kind, { direction: "sendonly" });
  await pc.setLocalDescription(await pc.createOffer());
  return { pc, sdp: pc.localDescription!.sdp };
}

describe("WHIP and WHEP over HTTP", () => {
  async function open(t: TestContext, more: Parameters<typeof startWebrtc>[1] = {}) {
    const hub = createSmallHub();
    const server = await startWebrtc(hub, more);
    t.after(server.close);
    const send = (
      method: string,
      path: string,
      body?: string,
      headers: Record<string, string> = { "content-type": "application/sdp" },
    ) => fetch(server.origin + path, { method, headers, ...(body !== undefined && { body }) });
    return {
      hub,
      server,
      send,
      publish: (body: string, secret = hub.secret) => send("POST", `/${secret}/webRTC/publish`, body),
    };
  }

  test("respond to an offer with 201, a session URL and an ETag, and a DELETE ends the session once", async (t) => {
    const { hub, server, send, publish } = await open(t);
    const response = await publish((await someOffer(t)).sdp);
    assert.equal(response.status, 201);
    assert.equal(response.headers.get("content-type"), "application/sdp");
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    const location = response.headers.get("location")!;
    const answer = await response.text();
    assert.match(answer, /a=ice-lite/);
    assert.match(answer, /a=recvonly/);
    assert.match(answer, /a=candidate:.* 127\.0\.0\.1 \d+ typ host/);
    assert.match(answer, /x-google-start-bitrate=/);
    assert.equal(hub.claims[0]!.protocol, "webrtc");
    assert.equal(server.webrtc.connections(), 1);
    assert.equal((await send("DELETE", location)).status, 200);
    assert.deepEqual(hub.ends, [true]);
    assert.equal(server.webrtc.connections(), 0);
    assert.equal((await send("DELETE", location)).status, 404);
  });

  test("respond to preflight requests from browsers on other origins before they publish", async (t) => {
    const { hub, send } = await open(t);
    const response = await send("OPTIONS", `/${hub.secret}/webRTC/publish`);
    assert.equal(response.status, 204);
    assert.equal(response.headers.get("accept-post"), "application/sdp");
    assert.match(response.headers.get("access-control-allow-methods")!, /POST/);
    const session = await send("OPTIONS", `/${hub.secret}/webRTC/publish/${"0".repeat(32)}`);
    assert.match(session.headers.get("access-control-allow-methods")!, /PATCH, DELETE/);
    assert.match(session.headers.get("accept-patch")!, /trickle-ice-sdpfrag/);
    const got = await send("GET", `/${hub.secret}/webRTC/publish`);
    assert.equal(got.status, 405);
    assert.equal(got.headers.get("allow"), "POST, OPTIONS");
    assert.equal((await send("POST", `/${hub.secret}/webRTC/other`, "")).status, 404);
  });

  test("reject an unknown key, a second publisher and a missing offer with an error text", async (t) => {
    const { hub, server, send, publish } = await open(t);
    const { sdp } = await someOffer(t);
    assert.equal((await publish(sdp, "no-such-secret")).status, 403);
    assert.equal((await publish(sdp)).status, 201);
    const second = await publish(sdp);
    assert.equal(second.status, 409);
    assert.match(await second.text(), /^Another publisher is live on this input/);
    for (const body of [
      "",
      "hello",
      "v=0\r\n",
      sdp.replaceAll("H264", "H266").replaceAll("VP8", "VP7"),
      sdp.replace("m=audio", "m=application"),
      sdp.replace(/m=audio/, "m=video"),
      sdp.replace(/a=group:BUNDLE.*\r\n/, ""),
      "v=0".padEnd(70_000),
    ]) {
      const response = await publish(body);
      assert.equal(response.status, 400, body.slice(0, 20));
      assert.match(await response.text(), /^Cannot answer the WebRTC offer/);
    }
    assert.equal(
      (await send("POST", `/${hub.secret}/webRTC/publish`, sdp, { "content-type": "text/plain" })).status,
      415,
    );
    assert.equal(server.webrtc.connections(), 1);
  });

  test("accept changes of a session only at its own URL", async (t) => {
    const { hub, send, publish } = await open(t);
    const response = await publish((await someOffer(t)).sdp);
    const location = response.headers.get("location")!;
    const etag = response.headers.get("etag")!;
    const patch = (path: string, body: string, headers: Record<string, string> = {}) =>
      send("PATCH", path, body, { "content-type": "application/trickle-ice-sdpfrag", ...headers });
    const candidate =
      "a=ice-ufrag:abcd\r\na=mid:0\r\na=candidate:1 1 udp 2122260223 192.0.2.1 61764 typ host\r\n".replace(
        "a=ice-ufrag:abcd\r\n",
        "",
      );
    assert.equal((await patch(location, candidate, { "if-match": etag })).status, 204);
    assert.equal((await patch(location, candidate, { "if-match": '"other"' })).status, 412);
    assert.equal((await patch(location, "nonsense")).status, 400);
    assert.equal((await patch(location, "a=ice-ufrag:x\r\na=ice-pwd:short\r\n")).status, 400);
    assert.equal((await send("PATCH", location, "v=0\r\n")).status, 400);
    assert.equal((await send("PATCH", location, "{}", { "content-type": "application/json" })).status, 415);
    assert.equal((await send("DELETE", location.replace(hub.secret, "another"))).status, 404);
    assert.equal((await send("DELETE", location.replace("publish", "play"))).status, 404);
    assert.deepEqual(hub.ends, []);
  });

  test("restart ICE with new credentials and a new ETag", async (t) => {
    const { send, publish } = await open(t);
    const response = await publish((await someOffer(t)).sdp);
    const before = await response.text();
    const location = response.headers.get("location")!;
    const again = await send("PATCH", location, "a=ice-ufrag:otherufrag\r\na=ice-pwd:0123456789abcdefghijklmn\r\n", {
      "content-type": "application/trickle-ice-sdpfrag",
      "if-match": "*",
    });
    assert.equal(again.status, 200);
    const fragment = await again.text();
    const ufrag = /a=ice-ufrag:(\S+)/.exec(fragment)![1]!;
    assert.doesNotMatch(before, new RegExp(`a=ice-ufrag:${ufrag}`));
    assert.match(fragment, /a=ice-pwd:\S{22}/);
    assert.match(fragment, /a=candidate:/);
    assert.notEqual(again.headers.get("etag"), response.headers.get("etag"));
  });

  test("reject viewers of unpublished inputs and unauthorized viewers", async (t) => {
    const hosts = new Set<string | undefined>();
    const { hub, send } = await open(t, {
      access: async (id, _, host) => {
        hosts.add(host);
        if (id !== "c".repeat(32)) throw streamErrors.signedUrlNeeded();
        return id;
      },
    });
    const { sdp } = await someOffer(t);
    assert.equal((await send("POST", "/somebody/webRTC/play", sdp)).status, 401);
    const early = await send("POST", `/${hub.input.uid}/webRTC/play`, sdp);
    assert.equal(early.status, 409);
    assert.match(await early.text(), /has no publisher/);
    assert.match([...hosts].join(), /^127\.0\.0\.1:\d+$/, "the requested host name is passed on to the access check");
  });

  test("limit the number of connections", async (t) => {
    const { hub, publish } = await open(t, {
      settings: { host: "127.0.0.1", webrtc_addresses: [], webrtc_ports: [0, 0], connections: 0 },
    });
    const response = await publish((await someOffer(t)).sdp);
    assert.equal(response.status, 503);
    assert.deepEqual(hub.ends, [false]);
  });

  test("advertise the configured IP addresses, and use only the configured ports", async (t) => {
    const { publish } = await open(t, {
      settings: { host: "0.0.0.0", webrtc_addresses: ["203.0.113.7"], webrtc_ports: [41_000, 41_100], connections: 5 },
    });
    const answer = await (await publish((await someOffer(t)).sdp)).text();
    const candidates = answer.split("\r\n").filter((line) => line.startsWith("a=candidate:"));
    assert.ok(candidates.length > 0);
    for (const line of candidates) {
      const [, , , , address, port] = line.split(" ");
      assert.equal(address, "203.0.113.7");
      assert.ok(Number(port) >= 41_000 && Number(port) <= 41_100, line);
    }
  });

  test("disconnect a publisher when its key is revoked", async (t) => {
    const { hub, server, publish } = await open(t);
    assert.equal((await publish((await someOffer(t)).sdp)).status, 201);
    hub.revoke();
    await until("the publication ends", () => hub.ends.length === 1);
    assert.equal(server.webrtc.connections(), 0);
  });

  test("disconnect a silent peer", async (t) => {
    let now = 0;
    const { hub, server, publish } = await open(t, { now: () => now });
    assert.equal((await publish((await someOffer(t)).sdp)).status, 201);
    now = 31_000;
    await until("the publication ends", () => hub.ends.length === 1);
    assert.deepEqual(hub.ends, [false]);
    assert.equal(server.webrtc.connections(), 0);
  });

  test("ignore garbage on a port that waits for its publisher", async (t) => {
    const { hub, server, publish } = await open(t);
    const answer = await (await publish((await someOffer(t)).sdp)).text();
    await sendInvalidDatagrams(Number(/a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+)/.exec(answer)![1]), 2000);
    assert.deepEqual(hub.ends, []);
    assert.equal(server.webrtc.connections(), 1);
  });
});

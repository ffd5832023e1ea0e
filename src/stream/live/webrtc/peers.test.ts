import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { UserError } from "../../../kernel/index.ts";
import { createPeers } from "./peers.ts";

const CODECS = { audio: { codec: "opus", payloadType: 111 } } as const;

function open(t: TestContext, connections: number) {
  const peers = createPeers({
    settings: { host: "127.0.0.1", webrtc_addresses: [], webrtc_ports: [0, 0], connections },
  });
  t.after(() => peers.close());
  return { peers, open: (kind: "publish" | "play") => peers.open(CODECS, { kind, isLocal: true }) };
}

test("viewers and publishers do not use each other's slots", (t) => {
  const { peers, open: add } = open(t, 1);
  const viewer = add("play");
  add("publish");
  for (const kind of ["publish", "play"] as const)
    assert.throws(
      () => add(kind),
      (err) => err instanceof UserError && err.kind === "webrtcTooMany",
    );
  viewer.close();
  add("play");
  assert.equal(peers.count(), 2);
});

test("a peer that never connects does not lock out others, and close listeners that are added late are called", async (t) => {
  const { peers, open: add } = open(t, 120);
  const publisher = add("publish");
  const first = add("play");
  for (let n = 0; n < 150; n++) add("play");
  assert.equal(peers.count(), 101);
  assert.equal(await new Promise((resolve) => first.onClose(resolve)), false);
  let ended = false;
  publisher.onClose(() => (ended = true));
  await Promise.resolve();
  assert.equal(ended, false, "a publisher that never connects is not closed");
});

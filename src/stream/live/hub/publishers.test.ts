import assert from "node:assert/strict";
import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { UserError } from "../../../kernel/index.ts";
import { H264, AAC, openHub, videoPacket, audioPacket } from "./hub.testing.ts";

const kindOf = (reason: unknown) => (reason instanceof UserError ? reason.kind : reason);
const refused = (kind: string) => (err: unknown) => kindOf(err) === kind;

test("rejects a second publisher of an input until the first has been silent for five seconds", async () => {
  const { inputs, publish, clock, sessions } = openHub();
  inputs.add("secret");
  const first = await publish("secret");
  first.configure({ video: H264! });
  first.write(videoPacket(0, { key: true }));
  clock.advance(4900);
  await assert.rejects(publish("secret"), refused("liveInputBusy"));
  first.write(videoPacket(40));
  clock.advance(4900);
  await assert.rejects(publish("secret"), refused("liveInputBusy"));
  clock.advance(200);
  const second = await publish("secret");
  assert.equal(kindOf(first.signal.reason), "liveReplaced");
  assert.equal(kindOf(sessions[0]!.signal.reason), "liveReplaced");
  first.end(false);
  await assert.rejects(publish("secret"), refused("liveInputBusy"));
  second.end(true);
});

test("accepts exactly one of two concurrent publishers", async () => {
  const { inputs, publish } = openHub();
  inputs.add("secret");
  const came = await Promise.allSettled([publish("secret"), publish("secret"), publish("secret")]);
  assert.deepEqual(came.map(({ status }) => status).toSorted(), ["fulfilled", "rejected", "rejected"]);
});

test("key rotation, disabling, deletion and server shutdown each end the publication with a reason", async () => {
  const { hub, inputs, publish, clock } = openHub();
  for (const key of ["one", "two", "three", "four", "five", "six"]) inputs.add(key);
  const [rotated, disabled, deleted, silent, left, changed] = await Promise.all(
    ["one", "two", "three", "four", "five", "six"].map((key) => publish(key)),
  );
  inputs.rotate("one", "another");
  inputs.change("two", { enabled: false });
  inputs.remove("three");
  inputs.change("six", { preferLowLatency: true });
  await turn();
  clock.advance(61_000);
  left!.write(audioPacket(0));
  changed!.write(audioPacket(0));
  await turn();
  assert.deepEqual(
    [rotated, disabled, deleted, silent, left, changed].map((publication) => kindOf(publication!.signal.reason)),
    ["liveKeyRevoked", "liveInputDisabled", "liveInputDeleted", "livePublisherSilent", undefined, undefined],
  );
  changed!.configure({ audio: AAC! });
  changed!.write(audioPacket(1));
  assert.equal(hub.all()[0]!.input.preferLowLatency, true);
  hub.end(changed!.input, new UserError("stream", "storage", { code: 1, http: 507, message: "full" }, {}));
  assert.equal(kindOf(changed!.signal.reason), "storage");
  hub.close();
  assert.equal(kindOf(left!.signal.reason), "liveShuttingDown");
  await assert.rejects(publish("five"), refused("liveShuttingDown"));
});

test("key rotation also ends SRT publications, although their stream id stays the same", async () => {
  const { hub, inputs } = openHub();
  const { uid } = inputs.add("one");
  const publish = (passphrase: string) =>
    hub.publish({ protocol: "srt", credential: `srt-${uid}`, passphrase, address: "127.0.0.1" });
  const publication = await publish("one");
  inputs.change("one", { preferLowLatency: true });
  await turn();
  assert.equal(publication.signal.aborted, false);
  inputs.rotate("one", "another");
  await turn();
  assert.equal(kindOf(publication.signal.reason), "liveKeyRevoked");
  await assert.rejects(publish("one"), refused("liveKeyUnknown"));
  await publish("another");
});

test("after a lost event connection, missed changes are detected for all inputs", async () => {
  const { inputs, publish } = openHub();
  for (const key of ["one", "two", "three", "four"]) inputs.add(key);
  const publications = await Promise.all(["one", "two", "three", "four"].map((key) => publish(key)));
  const back = inputs.loseEvents();
  inputs.rotate("one", "another");
  inputs.change("two", { enabled: false });
  inputs.remove("three");
  await turn();
  assert.deepEqual(
    publications.map(({ signal }) => signal.aborted),
    [false, false, false, false],
  );
  back();
  for (const { signal } of publications.slice(0, 3))
    if (!signal.aborted) await once(signal, "abort", { signal: AbortSignal.timeout(60_000) });
  assert.deepEqual(
    publications.map(({ signal }) => kindOf(signal.reason)),
    ["liveKeyRevoked", "liveInputDisabled", "liveInputDeleted", undefined],
  );
});

test("a rotation between key lookup and publication also ends the publication", async () => {
  const { inputs, publish } = openHub();
  inputs.add("secret");
  const coming = publish("secret");
  inputs.rotate("secret", "another");
  const publication = await coming;
  await turn();
  assert.equal(kindOf(publication.signal.reason), "liveKeyRevoked");
});

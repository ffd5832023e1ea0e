import assert from "node:assert/strict";
import { test } from "node:test";
import type { Webhooks } from "../../webhooks/types.ts";
import type { LiveInput } from "../inputs/port.ts";
import { DEFAULTS } from "../inputs/rules.ts";
import type { LiveEvent } from "../inputs/types.ts";
import { createLiveNotifications } from "./notifications.ts";

const [ACCOUNT, INPUT] = ["a".repeat(32), "1".repeat(32)];
const AT = Date.UTC(2026, 10, 21, 12, 0, 0, 500);
const event = (more: Partial<LiveEvent> = {}): LiveEvent => ({
  id: `${INPUT}-7`,
  type: "live_input.connected",
  account: ACCOUNT,
  input: INPUT,
  at: AT,
  error: null,
  ...more,
});

function open(name?: string) {
  const sent: Parameters<Webhooks["liveEvent"]>[0][] = [];
  const input: LiveInput = {
    ...DEFAULTS,
    meta: { ...(name !== undefined && { name }) },
    uid: INPUT,
    account: ACCOUNT,
    created: 0,
    modified: 0,
    keysRotatedAt: null,
  };
  const notify = createLiveNotifications({
    webhooks: { liveEvent: async (received) => void sent.push(received) },
    inputs: { find: async (uid) => (uid === INPUT ? input : undefined) },
  });
  return { sent, notify, body: () => JSON.parse(sent.at(-1)!.payload) as unknown };
}

test("a notification has the documented form", async () => {
  const { sent, notify, body } = open("Stage");
  await notify(event());
  assert.deepEqual(body(), {
    name: "Stage",
    text: `Notification type: Stream Live Input\nInput ID: ${INPUT}\nEvent type: live_input.connected\nUpdated at: 2026-11-21T12:00:00.500Z`,
    data: {
      notification_name: "Stream Live Input",
      input_id: INPUT,
      event_type: "live_input.connected",
      updated_at: "2026-11-21T12:00:00.500Z",
    },
    ts: AT / 1000 - 0.5,
  });
  const { account, input, type, occasion } = sent[0]!;
  assert.deepEqual([account, input, type, occasion], [ACCOUNT, INPUT, "live_input.connected", `live ${INPUT}-7`]);
});

test("an error notification includes the codecs involved", async () => {
  const { notify, body } = open();
  await notify(
    event({
      type: "live_input.errored",
      error: { code: "ERR_UNSUPPORTED_VIDEO_CODEC", message: "VP6 is not taken", videoCodec: "vp6", audioCodec: "aac" },
    }),
  );
  assert.partialDeepStrictEqual(body(), {
    name: "Stream Live Input",
    data: {
      event_type: "live_input.errored",
      live_input_errored: {
        error: { code: "ERR_UNSUPPORTED_VIDEO_CODEC", message: "VP6 is not taken" },
        video_codec: "vp6",
        audio_codec: "aac",
      },
    },
  });
});

test("sends nothing for a deleted input", async () => {
  const { sent, notify } = open();
  await notify(event({ input: "2".repeat(32) }));
  assert.deepEqual(sent, []);
});

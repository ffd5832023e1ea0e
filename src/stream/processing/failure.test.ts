import assert from "node:assert/strict";
import { test } from "node:test";
import { MediaRunError } from "../media/run-error.ts";
import { classifyFailure } from "./failure.ts";

test("attributes a failure of a hardware encoder to the machine, not to the video", () => {
  const verdict = (stderr: string) => classifyFailure(new MediaRunError("failed", "ffmpeg failed", stderr), 3);
  assert.deepEqual(verdict("[h264 @ 0x55] Invalid NAL unit size"), { kind: "failed", code: "ERR_MALFORMED_VIDEO" });
  for (const stderr of [
    "[h264_nvenc @ 0x55] OpenEncodeSessionEx failed: out of memory (10)\nError initializing output stream",
    "[AVHWDeviceContext @ 0x55] No VA display found for device /dev/dri/renderD128.\nDevice creation failed: -22.",
  ])
    assert.deepEqual(verdict(stderr), { kind: "again" }, stderr);
});

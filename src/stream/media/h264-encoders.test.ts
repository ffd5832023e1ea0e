import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { needsPrograms } from "../../../test/support/media.ts";
import { hardwareAccess, hardwareOptions, selectEncoder } from "./h264-encoders.ts";
import { openTools } from "./media.testing.ts";
import { installedProgram, temporaryFolder } from "./runs.testing.ts";

/** Tools whose ffmpeg behaves as on a machine with other hardware: the script handles the runs with these encoders. */
async function toolsOf(t: TestContext, script: string, encoder: "auto" | "software" | "h264_qsv" = "auto") {
  const place = await temporaryFolder(t);
  await chmod(place, 0o755);
  const ffmpeg = join(place, "ffmpeg");
  const list = "echo ' V....D h264_nvenc  x'; echo ' V....D h264_qsv  x'; echo ' V....D h264_vaapi  x'";
  await writeFile(
    ffmpeg,
    `#!/bin/sh\ncase "$*" in\n*-encoders*) ${list};;\n${script}\nesac\nexec ${installedProgram("ffmpeg")} "$@"\n`,
    { mode: 0o755 },
  );
  return openTools(t, { ffmpeg, encoder, sandbox: "prlimit" });
}

const NO_DRIVER = `*h264_nvenc*) echo '[h264_nvenc @ 0x1] Cannot load libcuda.so.1' >&2; echo failed >&2; exit 1;;`;
const ONE_GROUP = `*h264_qsv*) echo moof; exit 0;;`;
const WORKS = `*h264_vaapi*) echo moof; echo moof; exit 0;;`;

test(
  "selects the first hardware encoder that encodes a clip correctly",
  needsPrograms("ffmpeg", "prlimit"),
  async (t) => {
    const { h264 } = await (await toolsOf(t, [NO_DRIVER, ONE_GROUP, WORKS].join("\n"))).ready();
    assert.equal(h264.selected().encoder, "libx264", "until the test has ended");
    assert.deepEqual(await h264.tested, { encoder: "h264_vaapi" });
    assert.deepEqual(h264.selected(), { encoder: "h264_vaapi" });
  },
);

test("selects software with the reason for each hardware encoder", needsPrograms("ffmpeg", "prlimit"), async (t) => {
  const broken = `*h264_vaapi*) echo 'No VA display found for device /dev/dri/renderD128.' >&2; exit 1;;`;
  const { h264 } = await (await toolsOf(t, [NO_DRIVER, ONE_GROUP, broken].join("\n"))).ready();
  assert.deepEqual(await h264.tested, {
    encoder: "libx264",
    reason:
      "h264_nvenc: Cannot load libcuda.so.1; h264_qsv: its test clip has 1 groups of pictures instead of 2; h264_vaapi: No VA display found for device /dev/dri/renderD128.",
  });
});

test("tests only the encoder that stream.encoder names, and none for software", async () => {
  const tested = new Set<string>();
  const select = (setting: "software" | "h264_qsv" | "h264_videotoolbox") =>
    selectEncoder({
      setting,
      listed: new Set(["h264_nvenc", "h264_qsv"]),
      run: (args) => {
        tested.add(args[args.indexOf("-c:v") + 1]!);
        return Promise.resolve(Buffer.from("moof moof"));
      },
    });
  assert.deepEqual(await select("software"), { encoder: "libx264", reason: "stream.encoder is software" });
  assert.deepEqual([...tested], []);
  assert.deepEqual(await select("h264_qsv"), { encoder: "h264_qsv" });
  assert.deepEqual([...tested], ["h264_qsv"]);
  assert.deepEqual(await select("h264_videotoolbox"), {
    encoder: "libx264",
    reason: "h264_videotoolbox: not included in this ffmpeg",
  });
});

test("only runs of hardware encoders have access to devices", () => {
  const options = { bitrate: 800_000, level: 31, keyFrames: 120 };
  assert.deepEqual(hardwareAccess(["-c:v", "libx264"]), { devices: [] });
  assert.deepEqual(hardwareAccess(hardwareOptions("h264_vaapi", options)), { devices: ["/dev/dri"] });
  assert.ok(hardwareAccess(hardwareOptions("h264_nvenc", options)).memoryMb! > 100_000);
});

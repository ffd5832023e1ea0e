import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { withoutChromium } from "../support/browser.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { startDashboard } from "./support.ts";
import { uploadInTwoVisits, writePadded } from "./upload-steps.ts";

const BYTES = 300_000_000;

test(
  "an upload of 300 MB that is paused continues after a reload, and the video plays",
  { skip: withoutChromium() || needsFfmpeg.skip },
  async (t) => {
    const dashboard = await startDashboard(t);
    const file = join(await temporaryFolder(t, "video"), "holiday.mp4");
    await writePadded(file, await readFile(await clip({ seconds: 4 })), BYTES);
    await uploadInTwoVisits(dashboard, { file, bytes: BYTES });
  },
);

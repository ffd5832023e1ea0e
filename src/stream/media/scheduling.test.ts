import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { clip, needsFfmpeg } from "../../../test/support/media.ts";
import { UserError } from "../../kernel/index.ts";
import { isFfmpeg, openTools, processesWith } from "./media.testing.ts";
import { SANDBOXES, until } from "./runs.testing.ts";
import type { MediaRunReport } from "./tools.ts";

for (const { sandbox, needs } of SANDBOXES) {
  describe(`a program confined by ${sandbox}`, needs, () => {
    test("runs with background niceness, including in its autogroup", async (t) => {
      const path = await clip();
      const stop = new AbortController();
      const mark = `mark${sandbox}${process.pid}`;
      const run = openTools(t, { sandbox }).ffmpeg({
        args: ["-stream_loop", "-1", "-i", path, "-metadata", `title=${mark}`, "-f", "null", "-"],
        reads: [path],
        signal: stop.signal,
      });
      run.catch(() => {});
      await until(() => processesWith(mark).some(isFfmpeg), "ffmpeg to start");
      const [pid] = processesWith(mark).filter(isFfmpeg);
      if (existsSync("/proc/self/autogroup"))
        assert.match(readFileSync(`/proc/${pid}/autogroup`, "latin1"), /nice 5$/m);
      // Field 19 of proc_pid_stat(5), after the name in brackets.
      assert.equal(readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]!.split(" ")[16], "5");
      stop.abort();
      await assert.rejects(run);
    });
  });
}

test("queues runs, urgent ones first, and rejects new ones if too many are waiting", needsFfmpeg, async (t) => {
  const reports: MediaRunReport[] = [];
  const tools = openTools(
    t,
    { urgent_encoders: 1, encoders: 1 },
    { maxWaiting: 1, onRun: (run) => void reports.push(run) },
  );
  await tools.ready();
  const ran: string[] = [];
  const run = (name: string, urgency: "urgent" | "soon") =>
    tools
      .ffmpeg({ args: ["-f", "lavfi", "-i", "testsrc2=duration=0.1", "-f", "null", "-"], reads: [], urgency })
      .then(() => ran.push(name));
  const all = [run("first", "urgent"), run("soon", "soon"), run("second", "urgent")];
  await assert.rejects(
    run("third", "urgent"),
    (err) => err instanceof UserError && err.kind === "encoderBusy" && err.entry.http === 503,
  );
  await Promise.all(all);
  assert.deepEqual(ran, ["first", "second", "soon"]);
  assert.deepEqual(
    reports.map(({ outcome }) => outcome),
    ["refused", "ok", "ok", "ok"],
  );
  assert.deepEqual(tools.load(), { running: 0, waiting: { urgent: 0, soon: 0, background: 0 } });
});

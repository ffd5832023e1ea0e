import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../kernel/index.ts";
import { restrictInputs } from "./inputs.ts";
import { createRunSlots, type Urgency } from "./lanes.ts";

const never = new AbortController().signal;
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("lanes", () => {
  test("never exceed their slots, and never leave a slot unused while a run waits, regardless of which runs start, end or are aborted", async () => {
    type Step = { do: "enter"; urgency: Urgency } | { do: "leave" | "abort"; which: number };
    const step = fc.oneof(
      fc.record({
        do: fc.constant("enter" as const),
        urgency: fc.constantFrom<Urgency>("urgent", "soon", "background"),
      }),
      fc.record({ do: fc.constantFrom("leave" as const, "abort" as const), which: fc.nat(20) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array<Step>(step, { maxLength: 60 }),
        async (urgent, background, steps) => {
          const lanes = createRunSlots({ urgent, background, maxWaiting: 5 });
          const inside: { urgency: Urgency; leave: () => void }[] = [];
          const waiting: { urgency: Urgency; controller: AbortController }[] = [];
          for (const one of steps) {
            if (one.do === "enter") {
              const entry = { urgency: one.urgency, controller: new AbortController() };
              waiting.push(entry);
              lanes
                .acquire(one.urgency, entry.controller.signal)
                .then(
                  (leave) => inside.push({ urgency: one.urgency, leave }),
                  (err: unknown) =>
                    assert.ok(
                      entry.controller.signal.aborted || (err instanceof UserError && err.kind === "encoderBusy"),
                    ),
                )
                .finally(() => waiting.splice(waiting.indexOf(entry), 1));
            } else if (one.do === "leave" && inside.length > 0) {
              const [gone] = inside.splice(one.which % inside.length, 1);
              gone!.leave();
              gone!.leave();
            } else if (one.do === "abort" && waiting.length > 0) {
              waiting[one.which % waiting.length]!.controller.abort(new Error("gave up"));
            }
            await settle();
            const count = (urgency: Urgency) => inside.filter((entry) => entry.urgency === urgency).length;
            const soonest = Math.max(1, urgent - 1);
            assert.ok(
              count("urgent") + count("soon") <= urgent &&
                count("soon") <= soonest &&
                count("background") <= background,
            );
            assert.equal(lanes.running(), inside.length);
            assert.equal(lanes.waiting("urgent") + lanes.waiting("soon") + lanes.waiting("background"), waiting.length);
            if (lanes.waiting("background") > 0) assert.equal(count("background"), background);
            if (lanes.waiting("urgent") > 0) assert.equal(count("urgent") + count("soon"), urgent);
            if (lanes.waiting("soon") > 0)
              assert.ok(count("soon") === soonest || count("urgent") + count("soon") === urgent);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  test("do not start a run that was aborted while waiting", async () => {
    const lanes = createRunSlots({ urgent: 1, background: 1, maxWaiting: 1 });
    await assert.rejects(lanes.acquire("urgent", AbortSignal.abort(new Error("gone"))), /gone/);
    const leave = await lanes.acquire("urgent", never);
    const second = lanes.acquire("urgent", never);
    await assert.rejects(
      lanes.acquire("urgent", never),
      (err) => err instanceof UserError && err.kind === "encoderBusy",
    );
    leave();
    (await second)();
    assert.equal(lanes.running(), 0);
  });
});

test("restrictions precede every input, and later options cannot lift them", () => {
  const args = restrictInputs(
    [
      "-protocol_whitelist",
      "http,tcp",
      "-ss",
      "1",
      "-i",
      "a",
      "-f",
      "png_pipe",
      "-i",
      "b",
      "-i",
      "c",
      "-f",
      "mp4",
      "out",
    ],
    2,
  );
  const inputs = args.flatMap((arg, i) => (arg === "-i" ? [i] : []));
  assert.equal(inputs.length, 3);
  for (const at of inputs) {
    const before = args.slice(0, at);
    assert.equal(before[before.lastIndexOf("-protocol_whitelist") + 1], "file");
    assert.equal(before.lastIndexOf("-threads"), at - 2);
  }
  const formats = args.flatMap((arg, i) => (arg === "-format_whitelist" ? [args[i + 1]!.split(",")] : []));
  assert.deepEqual(
    formats.map((list) => list.includes("png_pipe")),
    [false, true, false],
  );
  for (const list of formats)
    for (const bad of ["hls", "dash", "concat", "image2", "sdp", "lavfi", "rtp"]) assert.ok(!list.includes(bad), bad);
});

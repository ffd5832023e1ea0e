import type { TestContext } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { createLocalEvents, createSecrets, type Events } from "../../../store/index.ts";
import type { VideoFilter } from "../../videos/port.ts";
import type { Video } from "../../videos/video.ts";
import { createLiveInputs } from "./live-inputs.ts";
import { liveInputsMigrations } from "./live-table.ts";
import type { LiveEvent } from "./types.ts";

/**
 * Opens live inputs on a real database, with a manual clock; `announced` contains their events, `late` delays change
 * notifications.
 */
export async function openLiveInputs(t: TestContext, engine: TestEngine, late: Partial<Events> = {}) {
  const { db, another } = await engine.open(t, liveInputsMigrations);
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const events = createLocalEvents({ log: silentLog });
  const announced: LiveEvent[] = [];
  const state = { deaf: false };
  const recordings: Video[] = [];
  const catalog = {
    list: async (account: string, { liveInput, states }: VideoFilter = {}) =>
      recordings.filter(
        (video) => video.account === account && video.liveInput === liveInput && states?.includes(video.state) === true,
      ),
  };
  const guarded: { input: string; rules: object }[] = [];
  const guard = async (_account: string, input: string, rules: object) => void guarded.push({ input, rules });
  const parts = {
    guard,
    events: { ...events, ...late },
    secrets: createSecrets({ keys: [Buffer.alloc(32, 7)] }),
    clock,
    ids: randomIds,
    log: silentLog,
    catalog,
    settings: { min_deletion_days: 30, allow_private: false },
  };
  const onEvent = async (event: LiveEvent) => {
    if (state.deaf) throw new Error("connection lost");
    announced.push(event);
  };
  const liveInputs = createLiveInputs({ db, ...parts });
  liveInputs.onEvent(onEvent);
  t.after(async () => {
    await liveInputs.close();
    await events.close();
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    ...liveInputs,
    db,
    clock,
    announced,
    guarded,
    state,
    recordings,
    turn,
    elsewhere: async () => createLiveInputs({ db: await another(), ...parts }),
  };
}

import type { Repetition } from "../../../kernel/periodic.ts";
import type { Clock, Ids, Log } from "../../../kernel/index.ts";
import { localSweeps, type Db, type Events, type Secrets, type Sweeps } from "../../../store/index.ts";
import type { VideoCatalog } from "../../videos/index.ts";
import { createBroadcasts, type LiveBroadcasts } from "./broadcasts.ts";
import { createDirectory } from "./directory.ts";
import { createInputsTable } from "./inputs-table.ts";
import { createOwnedInputs, type InputsDeps } from "./inputs.ts";
import { createOutputs } from "./outputs.ts";
import { createOutputsTable } from "./outputs-table.ts";
import type { LiveInputDirectory, LiveStatusLog } from "./port.ts";
import { createStatusLog, type StatusLog } from "./status.ts";
import { createStatusTable } from "./status-table.ts";
import type { LiveInputs, OwnedLiveOutputs } from "./types.ts";

interface LiveInputsDeps {
  db: Db;
  events: Events;
  /** Default: sweeps run in this process only. */
  sweeps?: Pick<Sweeps, "every"> | undefined;
  secrets: Pick<Secrets, "seal" | "open">;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Recordings of the inputs. */
  catalog: Pick<VideoCatalog, "list">;
  /** Applies an input's access rules to its live videos. */
  guard: InputsDeps["guard"];
  settings: { min_deletion_days: number; allow_private: boolean };
}

export interface LiveInputsModule {
  inputs: LiveInputs;
  outputs: OwnedLiveOutputs;
  directory: LiveInputDirectory;
  status: LiveStatusLog;
  broadcasts: LiveBroadcasts;
  /** Calls the listener at least once for each event of an input until it resolves, even after a crash. */
  onEvent: StatusLog["onEvent"];
  /** Sends events left unreported by a crash. */
  recover(): Promise<void>;
  /** Runs `recover` every minute, until closed. */
  start(): void;
  close(): Promise<void>;
}

const RECOVER_MS = 60_000;

/** Creates live inputs, their keys, outputs and history. */
export function createLiveInputs({
  db,
  events,
  sweeps = localSweeps,
  secrets,
  clock,
  ids,
  log,
  catalog,
  guard,
  settings,
}: LiveInputsDeps): LiveInputsModule {
  const table = createInputsTable(db);
  const history = createStatusTable(db);
  const directory = createDirectory({ table, secrets, events, clock });
  const { recover, onEvent, ...status } = createStatusLog({ table: history, clock, log });
  let recovery: Repetition | undefined;
  return {
    inputs: createOwnedInputs({
      table,
      history,
      directory,
      secrets,
      clock,
      ids,
      minDeletionDays: settings.min_deletion_days,
      guard,
    }),
    outputs: createOutputs({
      table: createOutputsTable(db),
      inputs: table,
      secrets,
      events,
      clock,
      ids,
      allowPrivate: settings.allow_private,
    }),
    broadcasts: createBroadcasts({ table, catalog, clock }),
    directory,
    status,
    onEvent,
    recover,
    start() {
      recovery ??= sweeps.every(RECOVER_MS, recover, { name: "live: recovery of input events", log });
      void recovery.run();
    },
    async close() {
      await recovery?.stop();
      directory.close();
    },
  };
}

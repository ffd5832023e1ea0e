import type { Clock, Ids, Log } from "../../../kernel/index.ts";
import type { Db, Events, Secrets } from "../../../store/index.ts";
import type { VideoCatalog } from "../../videos/port.ts";
import { createBroadcasts, type LiveBroadcasts } from "./broadcasts.ts";
import { createDirectory } from "./directory.ts";
import { createInputsTable } from "./inputs-table.ts";
import { createOwnedInputs, type InputsParts } from "./inputs.ts";
import { createOutputs } from "./outputs.ts";
import { createOutputsTable } from "./outputs-table.ts";
import type { LiveInputDirectory, LiveStatusLog } from "./port.ts";
import { createStatusLog, type StatusParts } from "./status.ts";
import { createStatusTable } from "./status-table.ts";
import type { LiveInputs, OwnedLiveOutputs } from "./types.ts";

export interface LiveInputsParts {
  db: Db;
  events: Events;
  secrets: Pick<Secrets, "seal" | "open">;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Their recordings. */
  catalog: Pick<VideoCatalog, "list">;
  /** Applies an input's access rules to its live videos. */
  guard: InputsParts["guard"];
  settings: { min_deletion_days: number; allow_private: boolean };
  /** Of notifications. */
  onEvent?: NonNullable<StatusParts["onEvent"]>;
}

export interface LiveInputsRoom {
  inputs: LiveInputs;
  outputs: OwnedLiveOutputs;
  directory: LiveInputDirectory;
  status: LiveStatusLog;
  broadcasts: LiveBroadcasts;
  /** Tells of what a crash has left untold. Now and then. */
  recover(): Promise<void>;
  close(): void;
}

/** Live inputs, their keys, outputs and history. */
export function createLiveInputs({
  db,
  events,
  secrets,
  clock,
  ids,
  log,
  catalog,
  guard,
  settings,
  onEvent,
}: LiveInputsParts): LiveInputsRoom {
  const table = createInputsTable(db);
  const history = createStatusTable(db);
  const directory = createDirectory({ table, secrets, events, clock });
  const { recover, ...status } = createStatusLog({ table: history, clock, log, ...(onEvent && { onEvent }) });
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
    recover,
    close: directory.close,
  };
}

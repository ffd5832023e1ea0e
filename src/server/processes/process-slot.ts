import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Settings } from "../../kernel/settings.ts";
import type { ProcessRole } from "../roles.ts";
import { supervisorChannel } from "./event-relay.ts";

/**
 * Environment variable in which the supervisor numbers a process: "2/4" is the second of four, "2/4/again" its
 * replacement.
 */
export const SLOT_VARIABLE = "REELPOST_PROCESS";

/** The position of a process among the processes of one `reelpost serve --processes`. */
interface ProcessSlot {
  /** Starts at 1, the primary process, which also has the roles that only one process can have. */
  number: number;
  count: number;
  /** True if the process replaces one that has ended. */
  isReplacement: boolean;
}

/** Parses the slot of this process; undefined without a supervisor. */
export function processSlot(env: Record<string, string | undefined>): ProcessSlot | undefined {
  const [, number, count, again] = /^([1-9]\d{0,3})\/([1-9]\d{0,3})(\/again)?$/.exec(env[SLOT_VARIABLE] ?? "") ?? [];
  return number === undefined
    ? undefined
    : { number: Number(number), count: Number(count), isReplacement: again !== undefined };
}

/** Roles whose state or UDP ports cannot be shared by several processes. */
const SINGLE_ROLES: readonly ProcessRole[] = ["live", "dns"];

export const rolesOfSlot = (roles: ReadonlySet<ProcessRole>, slot: ProcessSlot | undefined): ReadonlySet<ProcessRole> =>
  slot === undefined || slot.number === 1 ? roles : new Set([...roles].filter((role) => !SINGLE_ROLES.includes(role)));

/** The SQLite database of several processes; undefined for a process that runs alone, and on PostgreSQL. */
export function sharedDatabaseOf(settings: Settings, slot: ProcessSlot | undefined) {
  if (slot === undefined || settings.database.url !== "") return undefined;
  return {
    file: join(settings.data_dir, "reelpost.sqlite"),
    channel: supervisorChannel(),
    isFirst: slot.number === 1 && !slot.isReplacement,
  };
}

/**
 * Returns the settings of a process. The primary process uses the data directory; each of the others uses a folder in
 * it, with the secrets key and the objects of the primary process, and forwards requests for roles that only that has.
 */
export function settingsOfSlot(settings: Settings, slot: ProcessSlot | undefined): Settings {
  if (slot === undefined) return settings;
  const { data_dir: directory, secrets, objects, cluster } = settings;
  const reachable = {
    ...settings,
    cluster: cluster.listen === "" ? { ...cluster, listen: "127.0.0.1:0", address: "", drain_seconds: 0 } : cluster,
  };
  if (slot.number === 1) return reachable;
  return {
    ...reachable,
    data_dir: join(directory, "processes", String(slot.number)),
    secrets:
      secrets.key === "" && secrets.key_file === ""
        ? { ...secrets, key_file: join(directory, "secrets.key") }
        : secrets,
    objects: { ...objects, dir: resolve(directory, objects.dir) },
    cluster: { ...reachable.cluster, listen: reachable.cluster.listen.replace(/:\d+$/, ":0"), address: "" },
  };
}

/** All processes present the same self-signed certificate, and write outbound mail to the same folder. */
const SHARED_FOLDERS = ["tls", "mail"];

/** Links the shared folders of the data directory into the folder of a process. */
export function shareFolders(directory: string, { number }: ProcessSlot): void {
  if (number === 1) return;
  for (const name of SHARED_FOLDERS) {
    mkdirSync(join(directory, name), { recursive: true, mode: 0o700 });
    const link = join(directory, "processes", String(number), name);
    if (!existsSync(link)) symlinkSync(join("..", "..", name), link);
  }
}

/** True for the primary process, unless it is a replacement: `--new-token` creates only one token. */
export const mayCreateToken = (slot: ProcessSlot | undefined): boolean =>
  slot === undefined || (slot.number === 1 && !slot.isReplacement);

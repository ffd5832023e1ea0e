import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Settings } from "../../kernel/settings.ts";
import type { Role } from "../roles.ts";
import { supervisorChannel } from "./event-relay.ts";

/** The variable in which the supervisor names a process: "2/4" is the second of four, "2/4/again" its successor. */
export const SLOT_VARIABLE = "REELPOST_PROCESS";

/** The place of a process among those of one `reelpost serve --processes`. */
export interface ProcessSlot {
  /** From 1. The first process also runs the roles that only one process can have. */
  number: number;
  count: number;
  /** The process replaces one that has ended. */
  isSuccessor: boolean;
}

/** Undefined for a process that runs alone. */
export function processSlot(env: Record<string, string | undefined>): ProcessSlot | undefined {
  const [, number, count, again] = /^([1-9]\d{0,3})\/([1-9]\d{0,3})(\/again)?$/.exec(env[SLOT_VARIABLE] ?? "") ?? [];
  return number === undefined
    ? undefined
    : { number: Number(number), count: Number(count), isSuccessor: again !== undefined };
}

/** Roles whose state or UDP ports several processes on one machine cannot share. */
const SINGLE_ROLES: readonly Role[] = ["live", "dns"];

export const rolesOfSlot = (roles: ReadonlySet<Role>, slot: ProcessSlot | undefined): ReadonlySet<Role> =>
  slot === undefined || slot.number === 1 ? roles : new Set([...roles].filter((role) => !SINGLE_ROLES.includes(role)));

/** The SQLite database of several processes; undefined for a process that runs alone, and on PostgreSQL. */
export function sharedDatabaseOf(settings: Settings, slot: ProcessSlot | undefined) {
  if (slot === undefined || settings.database.url !== "") return undefined;
  return {
    file: join(settings.data_dir, "reelpost.sqlite"),
    channel: supervisorChannel(),
    isFirst: slot.number === 1 && !slot.isSuccessor,
  };
}

/**
 * The first process uses the data directory, each other one a folder in it, with the key and the objects of the first.
 * They forward requests for roles that only the first one has.
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

/** The processes present one self-signed certificate, and write outbound mail to one folder. */
const SHARED_FOLDERS = ["tls", "mail"];

/** Links folders of the data directory into the folder of a process. */
export function shareFolders(directory: string, { number }: ProcessSlot): void {
  if (number === 1) return;
  for (const name of SHARED_FOLDERS) {
    mkdirSync(join(directory, name), { recursive: true, mode: 0o700 });
    const link = join(directory, "processes", String(number), name);
    if (!existsSync(link)) symlinkSync(join("..", "..", name), link);
  }
}

/** One process creates the token that `--new-token` requests, once. */
export const mayCreateToken = (slot: ProcessSlot | undefined): boolean =>
  slot === undefined || (slot.number === 1 && !slot.isSuccessor);

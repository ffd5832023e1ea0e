import { createHash } from "node:crypto";
import { type Log } from "../../kernel/index.ts";
import { type IdRange, isMapped, mayChangeUser } from "../../kernel/privileges.ts";
import { workerErrors } from "../errors.ts";

/** A system user and group. */
export interface Identity {
  uid: number;
  gid: number;
}

/** Allocates the users of worker processes. */
export interface Identities {
  /**
   * Allocates the user of one process; undefined stands for the server's own user. Throws machineFailed if the range is
   * exhausted.
   */
  acquire(account: string | undefined): { identity: Identity | undefined; release(): void };
  /**
   * "account": each account has its own user. "shared": all run as `nobody`. "server": all run as the server's user.
   */
  readonly kind: "account" | "shared" | "server";
}

/** User and group `nobody`, the same on all Linux distributions. */
const NOBODY: Identity = { uid: 65534, gid: 65534 };

interface IdentitiesOptions {
  /** One id per account, used as both uid and gid. If absent, all workers run as `nobody`. */
  range?: IdRange | undefined;
  log: Pick<Log, "warn">;
  /** True if child processes can run as another user. Default: detected from the privileges of this process. */
  able?: boolean;
}

/** Returns the kind of users allocated to worker processes of this server. */
export const workerUsers = (range: IdRange | undefined): Identities["kind"] =>
  createIdentities({ range, log: SILENT_LOG }).kind;

const SILENT_LOG: Pick<Log, "warn"> = { warn() {} };

interface Holder {
  account: string;
  processes: number;
}

/**
 * The id is derived from a hash of the account, so it is usually the same after a restart and in other processes. If
 * another account uses that id, the next free id is chosen: two accounts never share a user within one server.
 */
export function createIdentities({
  range,
  log,
  able = process.platform === "linux" && mayChangeUser(),
}: IdentitiesOptions): Identities {
  if (!able) return { kind: "server", acquire: () => ({ identity: undefined, release() {} }) };
  if (range === undefined || !isMapped(range)) {
    if (range !== undefined)
      log.warn(
        { range },
        "workers: the user ids in workers.uid_range are not mapped in this container; all workers run as `nobody`",
      );
    return { kind: "shared", acquire: () => ({ identity: NOBODY, release() {} }) };
  }
  const { first, last } = range;
  const size = last - first + 1;
  const holders = new Map<number, Holder>();
  return {
    kind: "account",
    acquire(account = "") {
      const start = createHash("sha256").update(account).digest().readUInt32BE() % size;
      for (let step = 0; step < Math.min(size, holders.size + 1); step++) {
        const uid = first + ((start + step) % size);
        const holder: Holder = holders.get(uid) ?? { account, processes: 0 };
        if (holder.account !== account) continue;
        holders.set(uid, holder);
        holder.processes++;
        let isReleased = false;
        return {
          identity: { uid, gid: uid },
          release() {
            if (isReleased) return;
            isReleased = true;
            if (--holder.processes === 0) holders.delete(uid);
          },
        };
      }
      throw workerErrors.machineFailed({ reason: `workers.uid_range has ${size} user ids, and all are in use` });
    },
  };
}

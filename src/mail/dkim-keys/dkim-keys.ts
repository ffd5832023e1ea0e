import type { Clock, Ids } from "../../kernel/index.ts";
import { createVersions, isUniqueViolation, type Db, type Events, type Secrets } from "../../store/index.ts";
import { generateKeys, dkimRecordOf, selectorOf } from "./generate.ts";
import {
  deleteKeysOf,
  insertKeys,
  keyBySelector,
  keysOf,
  namesWith,
  setState,
  deleteRetired,
  type DkimTables,
  type StoredKey,
} from "./keys-table.ts";
import type { DkimAlgorithm, DkimKey, DkimRecord, DkimState, DkimUse, DkimSigningKey } from "./types.ts";

/** Published with a zone's id after every change of its keys. */
const DKIM_CHANGED = "mail.dkim";

export interface DkimName {
  zone: string;
  domain: string;
  use: DkimUse;
}

interface DkimRequest extends DkimName {
  account: string;
  /** Selector of the first key. */
  selector: string;
  /** Default: RSA only. */
  algorithms?: readonly DkimAlgorithm[];
}

export interface DkimKeys {
  /** Creates the missing keys of a name. Resolves with all its keys, oldest first. */
  ensure(request: DkimRequest): Promise<DkimKey[]>;
  list(name: DkimName): Promise<DkimKey[]>;
  /** Resolves with the DNS records that the active, next and retired keys require. */
  records(name: DkimName): Promise<DkimRecord[]>;
  /** Returns the keys that sign messages, usually from memory. Empty if the name does not have keys. */
  signers(name: DkimName): Promise<DkimSigningKey[]>;
  /**
   * Resolves with the local key for `d=` and `s=` of a signature, including retired keys. Undefined for keys of other
   * servers.
   */
  find(domain: string, selector: string): Promise<DkimSigningKey | undefined>;
  /** Creates the next keys, unless they already exist. They sign after `promote`, once they are visible in DNS. */
  rotate(request: DkimRequest): Promise<DkimKey[]>;
  /** Activates the next keys and retires the previous ones. Resolves with true if there were next keys. */
  promote(name: DkimName): Promise<boolean>;
  /**
   * Resolves with up to `limit` names that have had keys in this state since before this time, in name order, starting
   * after `after`.
   */
  names(state: DkimState, before: number, limit: number, after?: DkimName): Promise<DkimName[]>;
  /** Deletes keys retired before this time. Resolves with their names, whose records can be removed. */
  sweep(before: number): Promise<DkimName[]>;
  /** Deletes all keys of a zone. */
  deleteZone(zone: string): Promise<void>;
  close(): void;
}

interface DkimKeysDeps {
  db: Db;
  secrets: Secrets;
  events: Events;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
}

/** Maximum number of names whose decrypted keys are cached. */
const MAX_OPEN_KEYS = 1000;
/** Maximum age of cached keys if other processes can change them, in case a change notification is lost. */
const MAX_AGE_MS = 60_000;
const SWEEP_BATCH = 500;

export function createDkimKeys({ db, secrets, events, clock, ids }: DkimKeysDeps): DkimKeys {
  const tables = db.tables<DkimTables>();
  const versions = createVersions({ events, topic: DKIM_CHANGED, alone: true });
  const keyCache = new Map<string, { version: number | undefined; at: number; keys: DkimSigningKey[] }>();

  async function generateStoredKey(
    { zone, account, domain, use, selector: base }: DkimRequest,
    algorithm: DkimAlgorithm,
    turn: number,
    state: StoredKey["state"],
  ): Promise<StoredKey> {
    const { publicKey, privateKey } = await generateKeys(algorithm);
    const id = ids.hex();
    return {
      id,
      zone,
      account,
      domain,
      use,
      selector: selectorOf(base, turn, algorithm),
      algorithm,
      state,
      turn,
      publicKey,
      privateKey: secrets.seal(privateKey, `dkim/${id}`),
      createdAt: clock.now(),
      retiredAt: null,
    };
  }

  async function insert(request: DkimRequest, keys: StoredKey[]): Promise<DkimKey[]> {
    if (keys.length > 0) {
      try {
        await db.transaction<DkimTables, void>((tx) => insertKeys(tx, keys));
        versions.markChanged(request.zone);
      } catch (err) {
        // Another process created the keys first; they can be used just as well.
        if (!isUniqueViolation(err)) throw err;
      }
    }
    return list(request);
  }

  const opened = ({ id, domain, selector, algorithm, privateKey }: StoredKey): DkimSigningKey => ({
    domain,
    selector,
    algorithm,
    privateKey: secrets.open(privateKey, `dkim/${id}`),
  });

  const list = async ({ zone, domain, use }: DkimName) => (await keysOf(tables, zone, domain, use)).map(toDkimKey);

  return {
    list,
    async ensure(request) {
      const existingKeys = await keysOf(tables, request.zone, request.domain, request.use);
      const missingAlgorithms = (request.algorithms ?? ["rsa"]).filter(
        (algorithm) => !existingKeys.some((key) => key.algorithm === algorithm && key.state === "active"),
      );
      const turn =
        Math.max(0, ...existingKeys.map((key) => key.turn)) +
        (existingKeys.some((key) => missingAlgorithms.includes(key.algorithm)) ? 1 : 0);
      return insert(
        request,
        await Promise.all(
          missingAlgorithms.map((algorithm) => generateStoredKey(request, algorithm, Math.max(1, turn), "active")),
        ),
      );
    },
    records: async (name) => (await list(name)).map(dkimRecordOf),
    async signers(name) {
      const cacheKey = `${name.zone} ${name.use} ${name.domain}`;
      const version = versions.of(name.zone);
      const cachedKeys = keyCache.get(cacheKey);
      if (
        cachedKeys !== undefined &&
        cachedKeys.version === version &&
        (!db.isShared || clock.now() - cachedKeys.at < MAX_AGE_MS)
      )
        return cachedKeys.keys;
      const activeKeys = (await keysOf(tables, name.zone, name.domain, name.use)).filter(
        ({ state }) => state === "active",
      );
      const keys = activeKeys.map(opened);
      if (!keyCache.has(cacheKey) && keyCache.size >= MAX_OPEN_KEYS) keyCache.delete(keyCache.keys().next().value!);
      keyCache.set(cacheKey, { version, at: clock.now(), keys });
      return keys;
    },
    async find(domain, selector) {
      const storedKey = await keyBySelector(tables, domain.toLowerCase(), selector);
      return storedKey && opened(storedKey);
    },
    async rotate(request) {
      const existingKeys = await keysOf(tables, request.zone, request.domain, request.use);
      if (existingKeys.some(({ state }) => state === "next")) return existingKeys.map(toDkimKey);
      const turn = Math.max(0, ...existingKeys.map((key) => key.turn)) + 1;
      return insert(
        request,
        await Promise.all(
          (request.algorithms ?? ["rsa"]).map((algorithm) => generateStoredKey(request, algorithm, turn, "next")),
        ),
      );
    },
    async promote({ zone, domain, use }) {
      const promoted = await db.transaction<DkimTables, boolean>(async (tx) => {
        const existingKeys = await keysOf(tx, zone, domain, use);
        if (!existingKeys.some(({ state }) => state === "next")) return false;
        for (const { id, state } of existingKeys) {
          if (state === "active") await setState(tx, id, "retired", clock.now());
          if (state === "next") await setState(tx, id, "active", null);
        }
        return true;
      });
      if (promoted) versions.markChanged(zone);
      return promoted;
    },
    names: (state, before, limit, after) => namesWith(tables, state, before, limit, after),
    async sweep(before) {
      const deletedKeys = await db.transaction<DkimTables, StoredKey[]>((tx) => deleteRetired(tx, before, SWEEP_BATCH));
      for (const zone of new Set(deletedKeys.map((key) => key.zone))) versions.markChanged(zone);
      return [
        ...new Map(
          deletedKeys.map(({ zone, domain, use }) => [`${zone} ${domain} ${use}`, { zone, domain, use }]),
        ).values(),
      ];
    },
    async deleteZone(zone) {
      await db.transaction<DkimTables, void>((tx) => deleteKeysOf(tx, zone));
      versions.markChanged(zone);
    },
    close: versions.close,
  };
}

const toDkimKey = ({
  id,
  zone,
  account,
  domain,
  use,
  selector,
  algorithm,
  state,
  publicKey,
  createdAt,
  retiredAt,
}: StoredKey): DkimKey => ({
  id,
  zone,
  account,
  domain,
  use,
  selector,
  algorithm,
  state,
  publicKey,
  createdAt,
  retiredAt,
});

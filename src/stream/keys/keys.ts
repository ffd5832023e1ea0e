import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { type Clock, type Ids, isHexId } from "../../kernel/index.ts";
import { createReadThroughCache } from "../../kernel/recent.ts";
import type { Db, Events, Secrets } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import { createKeysTable, type KeyRow } from "./keys-table.ts";
import type { SigningKeys, VerifyingKey } from "./port.ts";

interface SigningKeysOptions {
  db: Db;
  events: Events;
  secrets: Secrets;
  clock: Clock;
  ids: Ids;
  /** Maximum number of keys per account. Default 1000. */
  max?: number;
}

/** The event id is the id of the key. */
const KEY_DELETED = "stream.key";
/** RFC 7518 3.3 requires 2048 or more. */
const RSA_BITS = 2048;
const MAX_CACHED_KEYS = 5000;
/** Revocations are announced immediately; this bounds the delay if a notification is lost. */
const CACHE_TTL_MS = 10_000;

export function createSigningKeys({ db, events, secrets, clock, ids, max = 1000 }: SigningKeysOptions): SigningKeys {
  const table = createKeysTable(db);
  const verifyingKeys = createReadThroughCache<VerifyingKey>({
    read: async (id) => toVerifyingKey(await table.find(id)),
    clock,
    max: MAX_CACHED_KEYS,
    ttlMs: CACHE_TTL_MS,
  });
  const ownedKeys = createReadThroughCache({
    read: readOrCreateDefault,
    clock,
    max: MAX_CACHED_KEYS,
    ttlMs: CACHE_TTL_MS,
  });

  function forget(id: string) {
    verifyingKeys.forget((_, key) => id === "" || key === id);
    ownedKeys.forget((ownKey) => id === "" || ownKey.id === id);
  }
  const unsubscribe = events.subscribe(KEY_DELETED, forget);

  async function readOrCreateDefault(account: string): Promise<{ id: string; privateKey: KeyObject }> {
    const existingKey = await table.own(account);
    if (existingKey !== undefined) return { id: existingKey.id, privateKey: unseal(existingKey) };
    const { publicKey, privateKey } = await newPair();
    const id = ids.hex();
    const sealedKey = secrets.seal(privateKey.export({ type: "pkcs8", format: "pem" }).toString(), sealedFor(id));
    if (
      await table.insertOwn({
        id,
        account_id: account,
        created_at: clock.now(),
        public_key: pemOf(publicKey),
        own_of: account,
        sealed: sealedKey,
      })
    )
      return { id, privateKey };
    // Another process was faster; if its key has been deleted in the meantime, the next call creates one.
    const concurrentKey = await table.own(account);
    if (concurrentKey === undefined) throw streamErrors.keyNotFound({ id });
    return { id: concurrentKey.id, privateKey: unseal(concurrentKey) };
  }

  const unseal = ({ id, sealed: sealedKey }: KeyRow): KeyObject =>
    createPrivateKey(secrets.open(sealedKey ?? "", sealedFor(id)));

  return {
    async create(account) {
      const { publicKey, privateKey } = await newPair();
      const row: KeyRow = {
        id: ids.hex(),
        account_id: account,
        created_at: clock.now(),
        public_key: pemOf(publicKey),
        own_of: null,
        sealed: null,
      };
      if (!(await table.insert(row, max))) throw streamErrors.tooManyKeys({ limit: max });
      return { id: row.id, account, created: row.created_at, privateKey };
    },
    list: async (account) =>
      (await table.list(account)).map(({ id, account_id, created_at }) => ({
        id,
        account: account_id,
        created: created_at,
      })),
    async delete(account, id) {
      if (!isHexId(id) || !(await table.delete(account, id))) throw streamErrors.keyNotFound({ id });
      forget(id);
      events.publish(KEY_DELETED, id);
    },
    find: (id) => (isHexId(id) ? verifyingKeys.get(id) : Promise.resolve(undefined)),
    own: async (account) => (await ownedKeys.get(account))!,
    close: unsubscribe,
  };
}

const newPair = (): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> =>
  promisify(generateKeyPair)("rsa", { modulusLength: RSA_BITS });
const pemOf = (key: KeyObject): string => key.export({ type: "spki", format: "pem" }).toString();
const toVerifyingKey = (row: KeyRow | undefined): VerifyingKey | undefined =>
  row && { account: row.account_id, publicKey: createPublicKey(row.public_key) };
const sealedFor = (id: string): string => `stream/key/${id}`;

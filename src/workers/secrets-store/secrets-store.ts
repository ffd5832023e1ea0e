import { offsetOf, type Clock, type Ids, type Page, type PageRequest } from "../../kernel/index.ts";
import type { Db, Secrets } from "../../store/index.ts";
import { checkContent, checkName, checkNew } from "./checks.ts";
import { secretsStoreErrors } from "./errors.ts";
import { secretsStoreLimits } from "./limits.ts";
import type { NewSecret, Order, SecretScope, SecretsStore, Store, StoredSecret } from "./port.ts";
import type { SecretRow, StoreRow } from "./schema.ts";
import { createSecretsTable, type SecretHead } from "./secrets-table.ts";

interface SecretsStoreOptions {
  db: Db;
  secrets: Secrets;
  clock: Clock;
  ids: Ids;
}

/** A sealed value can only be opened for its secret. */
const contextOf = ({ account_id, id }: Pick<SecretRow, "account_id" | "id">) => `secrets-store/${account_id}/${id}`;

export function createSecretsStore({ db, secrets: vault, clock, ids }: SecretsStoreOptions): SecretsStore {
  const table = createSecretsTable(db);
  const limits = secretsStoreLimits;

  async function needStore(account: string, id: string): Promise<StoreRow> {
    const row = await table.store(account, id);
    if (row === undefined) throw secretsStoreErrors.storeMissing({ store: id });
    return row;
  }

  async function needSecret(account: string, store: string, id: string): Promise<SecretRow> {
    const { id: storeId } = await needStore(account, store);
    const row = await table.secret(storeId, id);
    if (row === undefined) throw secretsStoreErrors.secretMissing({ secret: id, store });
    return row;
  }

  async function add(account: string, store: string, all: readonly NewSecret[]): Promise<StoredSecret[]> {
    checkNew(all);
    const owner = await needStore(account, store);
    if (all.length === 0) return [];
    const now = clock.now();
    const rows = all.map(({ name, value, scopes, comment = "" }): SecretRow => {
      const id = ids.hex();
      return {
        id,
        store_id: store,
        account_id: account,
        name,
        value: vault.seal(value, contextOf({ account_id: account, id })),
        scopes: joined(scopes),
        comment: storable(comment),
        created_at: now,
        modified_at: now,
      };
    });
    const added = await table.addSecrets(owner, rows, limits.secretsPerAccount);
    if (added === "store missing") throw secretsStoreErrors.storeMissing({ store });
    if (added === "too many") throw secretsStoreErrors.tooManySecrets({ limit: limits.secretsPerAccount });
    if (added !== "added") throw secretsStoreErrors.secretNameTaken({ name: added.taken });
    return rows.map(secretOf);
  }

  async function forWorkers(account: string, store: string, name: string): Promise<SecretRow | undefined> {
    const row = await table.byName(account, store, name);
    return row !== undefined && scopesOf(row).includes("workers") ? row : undefined;
  }

  return {
    async createStore(account, name) {
      checkName(name);
      const now = clock.now();
      const row: StoreRow = { id: ids.hex(), account_id: account, name, created_at: now, modified_at: now };
      const added = await table.addStore(row, limits.storesPerAccount);
      if (added === "name taken") throw secretsStoreErrors.storeNameTaken({ name });
      if (added === "too many") throw secretsStoreErrors.tooManyStores({ limit: limits.storesPerAccount });
      return storeOf(row);
    },
    stores: async (account, page, order) => pageOf((await table.stores(account)).map(storeOf), page, order, KEYS),
    store: async (account, id) => storeOf(await needStore(account, id)),
    async deleteStore(account, id, { force = false } = {}) {
      await needStore(account, id);
      const count = await table.deleteStore(id, force);
      if (count !== undefined) throw secretsStoreErrors.storeNotEmpty({ store: id, count });
    },

    createSecrets: add,
    async secrets(account, store, page, { search = "", scopes = [], ...order } = {}) {
      await needStore(account, store);
      // An account has a thousand secrets at most.
      const found = (await table.heads(store))
        .map(secretOf)
        .filter(({ name, comment }) => name.includes(search) || comment.includes(search))
        .filter((secret) => scopes.every((scope) => secret.scopes.includes(scope)));
      return pageOf(found, page, order, { ...KEYS, comment: ({ comment }) => comment, status: () => "" });
    },
    secret: async (account, store, id) => secretOf(await needSecret(account, store, id)),
    async changeSecret(account, store, id, { value, scopes, comment }) {
      const row = await needSecret(account, store, id);
      checkContent(row.name, { value, scopes, comment });
      const changed = await table.change(id, {
        modified_at: clock.now(),
        ...(value !== undefined && { value: vault.seal(value, contextOf(row)) }),
        ...(scopes !== undefined && { scopes: joined(scopes) }),
        ...(comment !== undefined && { comment: storable(comment) }),
      });
      if (changed === undefined) throw secretsStoreErrors.secretMissing({ secret: id, store });
      return secretOf(changed);
    },
    async duplicateSecret(account, store, id, copy) {
      const row = await needSecret(account, store, id);
      const [added] = await add(account, store, [{ ...copy, value: vault.open(row.value, contextOf(row)) }]);
      return added!;
    },
    async deleteSecrets(account, store, all) {
      await needStore(account, store);
      if (all.length === 0) return;
      const missing = await table.deleteSecrets(store, all);
      if (missing !== undefined) throw secretsStoreErrors.secretMissing({ secret: missing, store });
    },
    count: (account) => table.count(account),

    isForWorkers: async (account, store, name) => (await forWorkers(account, store, name)) !== undefined,
    async valueOf(account, store, name) {
      const row = await forWorkers(account, store, name);
      return row && vault.open(row.value, contextOf(row));
    },
  };
}

const joined = (scopes: readonly string[]) => scopes.join(",");
const scopesOf = ({ scopes }: Pick<SecretRow, "scopes">) => scopes.split(",") as SecretScope[];
/** PostgreSQL rejects this character in text. */
const storable = (text: string) => text.replaceAll("\0", "");

const storeOf = ({ id, account_id, name, created_at, modified_at }: StoreRow): Store => ({
  id,
  account: account_id,
  name,
  createdAt: new Date(created_at),
  modifiedAt: new Date(modified_at),
});

const secretOf = (row: SecretHead): StoredSecret => ({
  id: row.id,
  store: row.store_id,
  name: row.name,
  scopes: scopesOf(row),
  comment: row.comment,
  createdAt: new Date(row.created_at),
  modifiedAt: new Date(row.modified_at),
});

interface Named {
  id: string;
  name: string;
  createdAt: Date;
  modifiedAt: Date;
}

const KEYS = {
  name: ({ name }: Named) => name,
  created: ({ createdAt }: Named) => createdAt.getTime(),
  modified: ({ modifiedAt }: Named) => modifiedAt.getTime(),
};

/** Ordered by name unless `by` says otherwise; equal keys are ordered by name too. */
function pageOf<Item extends Named, Field extends string>(
  items: Item[],
  page: PageRequest,
  { by, direction = "asc" }: Order<Field> = {},
  keys: Record<Field | "name", (item: Item) => string | number>,
): Page<Item> {
  const key = keys[by ?? "name"];
  const compare = <Value extends string | number>(a: Value, b: Value) => (a < b ? -1 : a > b ? 1 : 0);
  const sign = direction === "asc" ? 1 : -1;
  const sorted = items.sort((a, b) => sign * compare(key(a), key(b)) || compare(a.name, b.name));
  return { items: sorted.slice(offsetOf(page), offsetOf(page) + page.perPage), total: items.length };
}

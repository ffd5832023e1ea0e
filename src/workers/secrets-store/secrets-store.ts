import { offsetOf, type Clock, type Ids, type Page, type PageRequest } from "../../kernel/index.ts";
import type { Db, Secrets } from "../../store/index.ts";
import { checkSecretContent, checkName, checkNewSecrets } from "./checks.ts";
import { secretsStoreErrors } from "./errors.ts";
import { secretsStoreLimits } from "./limits.ts";
import type { NewSecret, ListOrder, SecretScope, SecretsStore, SecretStore, StoredSecret } from "./port.ts";
import type { SecretRow, StoreRow } from "./schema.ts";
import { createSecretsTable, type SecretMetadataRow } from "./secrets-table.ts";

interface SecretsStoreOptions {
  db: Db;
  secrets: Secrets;
  clock: Clock;
  ids: Ids;
}

/** Binds an encrypted value to its secret: it cannot be decrypted for another secret. */
const contextOf = ({ account_id, id }: Pick<SecretRow, "account_id" | "id">) => `secrets-store/${account_id}/${id}`;

export function createSecretsStore({ db, secrets: sealer, clock, ids }: SecretsStoreOptions): SecretsStore {
  const table = createSecretsTable(db);
  const limits = secretsStoreLimits;

  async function requireStore(account: string, id: string): Promise<StoreRow> {
    const row = await table.store(account, id);
    if (row === undefined) throw secretsStoreErrors.storeMissing({ store: id });
    return row;
  }

  async function requireSecret(account: string, store: string, id: string): Promise<SecretRow> {
    const { id: storeId } = await requireStore(account, store);
    const row = await table.secret(storeId, id);
    if (row === undefined) throw secretsStoreErrors.secretMissing({ secret: id, store });
    return row;
  }

  async function addSecrets(account: string, store: string, newSecrets: readonly NewSecret[]): Promise<StoredSecret[]> {
    checkNewSecrets(newSecrets);
    const owner = await requireStore(account, store);
    if (newSecrets.length === 0) return [];
    const now = clock.now();
    const rows = newSecrets.map(({ name, value, scopes, comment = "" }): SecretRow => {
      const id = ids.hex();
      return {
        id,
        store_id: store,
        account_id: account,
        name,
        value: sealer.seal(value, contextOf({ account_id: account, id })),
        scopes: joinScopes(scopes),
        comment: storableText(comment),
        created_at: now,
        modified_at: now,
      };
    });
    const result = await table.addSecrets(owner, rows, limits.secretsPerAccount);
    if (result === "store missing") throw secretsStoreErrors.storeMissing({ store });
    if (result === "too many") throw secretsStoreErrors.tooManySecrets({ limit: limits.secretsPerAccount });
    if (result !== "added") throw secretsStoreErrors.secretNameTaken({ name: result.taken });
    return rows.map(secretOf);
  }

  async function rowForWorkers(account: string, store: string, name: string): Promise<SecretRow | undefined> {
    const row = await table.byName(account, store, name);
    return row !== undefined && scopesOf(row).includes("workers") ? row : undefined;
  }

  return {
    async createStore(account, name) {
      checkName(name);
      const now = clock.now();
      const row: StoreRow = { id: ids.hex(), account_id: account, name, created_at: now, modified_at: now };
      const result = await table.addStore(row, limits.storesPerAccount);
      if (result === "name taken") throw secretsStoreErrors.storeNameTaken({ name });
      if (result === "too many") throw secretsStoreErrors.tooManyStores({ limit: limits.storesPerAccount });
      return storeOf(row);
    },
    stores: async (account, page, order) => pageOf((await table.stores(account)).map(storeOf), page, order, ORDER_KEYS),
    store: async (account, id) => storeOf(await requireStore(account, id)),
    async deleteStore(account, id, { force = false } = {}) {
      await requireStore(account, id);
      const count = await table.deleteStore(id, force);
      if (count !== undefined) throw secretsStoreErrors.storeNotEmpty({ store: id, count });
    },

    createSecrets: addSecrets,
    async secrets(account, store, page, { search = "", scopes = [], ...order } = {}) {
      await requireStore(account, store);
      // Filtering in memory is fast enough: an account has at most 1000 secrets.
      const matchingSecrets = (await table.secretsWithoutValues(store))
        .map(secretOf)
        .filter(({ name, comment }) => name.includes(search) || comment.includes(search))
        .filter((secret) => scopes.every((scope) => secret.scopes.includes(scope)));
      return pageOf(matchingSecrets, page, order, {
        ...ORDER_KEYS,
        comment: ({ comment }) => comment,
        status: () => "",
      });
    },
    secret: async (account, store, id) => secretOf(await requireSecret(account, store, id)),
    async changeSecret(account, store, id, { value, scopes, comment }) {
      const row = await requireSecret(account, store, id);
      checkSecretContent(row.name, { value, scopes, comment });
      const changedRow = await table.change(id, {
        modified_at: clock.now(),
        ...(value !== undefined && { value: sealer.seal(value, contextOf(row)) }),
        ...(scopes !== undefined && { scopes: joinScopes(scopes) }),
        ...(comment !== undefined && { comment: storableText(comment) }),
      });
      if (changedRow === undefined) throw secretsStoreErrors.secretMissing({ secret: id, store });
      return secretOf(changedRow);
    },
    async duplicateSecret(account, store, id, copy) {
      const row = await requireSecret(account, store, id);
      const [createdSecret] = await addSecrets(account, store, [
        { ...copy, value: sealer.open(row.value, contextOf(row)) },
      ]);
      return createdSecret!;
    },
    async deleteSecrets(account, store, secretIds) {
      await requireStore(account, store);
      if (secretIds.length === 0) return;
      const missingId = await table.deleteSecrets(store, secretIds);
      if (missingId !== undefined) throw secretsStoreErrors.secretMissing({ secret: missingId, store });
    },
    count: (account) => table.count(account),

    isForWorkers: async (account, store, name) => (await rowForWorkers(account, store, name)) !== undefined,
    async valueOf(account, store, name) {
      const row = await rowForWorkers(account, store, name);
      return row && sealer.open(row.value, contextOf(row));
    },
  };
}

const joinScopes = (scopes: readonly string[]) => scopes.join(",");
const scopesOf = ({ scopes }: Pick<SecretRow, "scopes">) => scopes.split(",") as SecretScope[];
/** Removes NUL characters, which PostgreSQL rejects in text. */
const storableText = (text: string) => text.replaceAll("\0", "");

const storeOf = ({ id, account_id, name, created_at, modified_at }: StoreRow): SecretStore => ({
  id,
  account: account_id,
  name,
  createdAt: new Date(created_at),
  modifiedAt: new Date(modified_at),
});

const secretOf = (row: SecretMetadataRow): StoredSecret => ({
  id: row.id,
  store: row.store_id,
  name: row.name,
  scopes: scopesOf(row),
  comment: row.comment,
  createdAt: new Date(row.created_at),
  modifiedAt: new Date(row.modified_at),
});

interface OrderedItem {
  id: string;
  name: string;
  createdAt: Date;
  modifiedAt: Date;
}

const ORDER_KEYS = {
  name: ({ name }: OrderedItem) => name,
  created: ({ createdAt }: OrderedItem) => createdAt.getTime(),
  modified: ({ modifiedAt }: OrderedItem) => modifiedAt.getTime(),
};

/** One page of the items, ordered by `field` (default: by name), and by name among equal keys. */
function pageOf<Item extends OrderedItem, Field extends string>(
  items: Item[],
  page: PageRequest,
  { field, direction = "asc" }: ListOrder<Field> = {},
  keys: Record<Field | "name", (item: Item) => string | number>,
): Page<Item> {
  const key = keys[field ?? "name"];
  const compare = <Value extends string | number>(a: Value, b: Value) => (a < b ? -1 : a > b ? 1 : 0);
  const sign = direction === "asc" ? 1 : -1;
  const sorted = items.sort((a, b) => sign * compare(key(a), key(b)) || compare(a.name, b.name));
  return { items: sorted.slice(offsetOf(page), offsetOf(page) + page.perPage), total: items.length };
}

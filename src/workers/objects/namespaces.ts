import { offsetOf } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { ScriptsTables } from "../scripts/schema.ts";
import { objectErrors } from "./errors.ts";
import { countNamespaces, listNamespaces, ownerOfNamespace } from "./namespaces-table.ts";
import type { ObjectNamespaces } from "./port.ts";
import type { ObjectTables } from "./schema.ts";
import type { ObjectStorage } from "./storage.ts";

/** Lists of namespaces and objects. */
export function createObjectNamespaces({
  db,
  storage,
}: {
  db: Db;
  storage: Pick<ObjectStorage, "list">;
}): ObjectNamespaces {
  const tables = db.tables<ObjectTables & ScriptsTables>();
  return {
    async list(account, page) {
      const total = await countNamespaces(db.tables<ObjectTables>(), account);
      const slice = { offset: offsetOf(page), limit: page.perPage };
      return { items: await listNamespaces(tables, account, slice), total };
    },
    async objects(account, namespace, page) {
      const owner = await ownerOfNamespace(db.tables<ObjectTables>(), account, namespace);
      if (owner === undefined) throw objectErrors.namespaceMissing({ namespace, account });
      return storage.list(owner, namespace, page);
    },
  };
}

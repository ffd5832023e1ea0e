import { offsetOf } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { ScriptsTables } from "../scripts/schema.ts";
import { objectErrors } from "./errors.ts";
import { countNamespaces, listNamespaces, scriptIdOfNamespace } from "./namespaces-table.ts";
import type { ObjectNamespaces } from "./port.ts";
import type { ObjectTables } from "./schema.ts";
import type { ObjectStorage } from "./storage.ts";

/** Lists namespaces and their objects. */
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
      const range = { offset: offsetOf(page), limit: page.perPage };
      return { items: await listNamespaces(tables, account, range), total };
    },
    async objects(account, namespace, page) {
      const scriptId = await scriptIdOfNamespace(db.tables<ObjectTables>(), account, namespace);
      if (scriptId === undefined) throw objectErrors.namespaceMissing({ namespace, account });
      return storage.list(scriptId, namespace, page);
    },
  };
}

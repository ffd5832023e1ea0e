import { kvErrors, type KvNamespace, type KvNamespaces } from "../../../workers/index.ts";
import type { Call } from "../../operation.ts";

/**
 * Resolves with the namespace specified in the path. `operation` prefixes the error text if clients expect it: "get:
 * 'namespace not found'".
 */
export async function namespaceOf(
  namespaces: KvNamespaces,
  { params }: Pick<Call, "params">,
  operation?: string,
): Promise<KvNamespace> {
  const id = namespaces.parseId(params.namespace_id!);
  if (id === undefined) throw kvErrors.badNamespaceId({ id: params.namespace_id });
  const namespace = await namespaces.get(params.account_id!, id);
  if (namespace) return namespace;
  throw operation === undefined ? kvErrors.namespaceNotFound() : kvErrors.namespaceNotFoundIn({ operation });
}

export const KV_BASE = "/accounts/{account_id}/storage/kv/namespaces";
export const ONE_NAMESPACE = `${KV_BASE}/{namespace_id}`;

import { at } from "../api/paths.ts";
import { type Options, type CommandContext } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { localOptions, storageOptions, type StorageValues } from "../shared-options.ts";
import { connectStorage } from "../worker-of.ts";

/** The namespace of a key. */
export const namespaceOptions = {
  "namespace-id": { type: "string", placeholder: "id", summary: "namespace id" },
  binding: {
    type: "string",
    short: "b",
    placeholder: "name",
    summary: "binding of the namespace in the configuration",
  },
  ...storageOptions,
} as const satisfies Options;

/** Options of commands that read or write keys. */
export const keyOptions = { ...namespaceOptions, ...localOptions } as const satisfies Options;

interface NamespaceValues extends StorageValues {
  "namespace-id": string | undefined;
  binding: string | undefined;
}

/** Resolves with the specified namespace: its id and its API path. */
export async function connectNamespace(values: NamespaceValues, context: CommandContext) {
  const connection = await connectStorage(values, context);
  const id = values["namespace-id"] ?? boundNamespace(values, connection.target?.kvNamespaces);
  return { ...connection, id, namespace: `${connection.base}/storage/kv/namespaces${at`/${id}`}` };
}

function boundNamespace(
  { binding, local }: NamespaceValues,
  namespaces: readonly { binding: string; id: string | undefined; localId: string }[] = [],
): string {
  const names = namespaces.map((namespace) => namespace.binding).join(", ") || "none";
  if (binding === undefined)
    throw commandErrors.storageUnnamed({
      what: "KV namespace",
      options: "--binding <name> or --namespace-id <id>",
      names,
    });
  const boundEntry = namespaces.find((namespace) => namespace.binding === binding);
  if (boundEntry === undefined) throw commandErrors.bindingUnknown({ binding, what: "KV namespace", names });
  if (local === true) return boundEntry.localId;
  if (boundEntry.id === undefined)
    throw commandErrors.bindingWithoutId({
      binding,
      what: "KV namespace",
      command: `reelpost kv namespace create ${binding}`,
      field: "id",
    });
  return boundEntry.id;
}

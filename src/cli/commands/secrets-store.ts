import { collectItems, pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { askHidden, canAsk, confirm } from "../ask.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { readStdin } from "../input.ts";
import { nameValueLines, formatUtcTime, printResult, table } from "../print.ts";
import { storageOptions, yesOption } from "../shared-options.ts";
import { connectStorage } from "../worker-of.ts";

interface RemoteStore {
  id: string;
  name: string;
  created: string;
}

interface RemoteSecret {
  id: string;
  store_id: string;
  name: string;
  scopes: string[];
  comment: string;
  created: string;
  modified: string;
}

/** Exceeds the limit of every server, which rejects longer values itself. */
const MAX_VALUE_BYTES = 1024 * 1024;

const storeArgument = { name: "store-id", summary: "id of the store", required: true } as const;
const secretArgument = { name: "secret-id", summary: "id of the secret", required: true } as const;
const nameArgument = { name: "name", summary: "name of the secret", required: true } as const;
const commentOption = { comment: { type: "string", placeholder: "text", summary: "what the secret is for" } } as const;
const scopesSummary = "services that may use the secret, separated by commas";
const newSecretOptions = {
  scopes: { type: "string", placeholder: "list", summary: scopesSummary, defaultText: "workers" },
  ...commentOption,
} as const;

const storeCreate = defineCommand({
  name: "secrets-store store create",
  summary: "create a secrets store",
  arguments: [{ name: "name", summary: "name of the store", required: true }],
  options: storageOptions,
  examples: [["reelpost secrets-store store create shared", "prints the id of the store"]],
  async run(values, [name], context) {
    const { api, base } = await connectStorage(values, context);
    const store = await api.result<RemoteStore>("POST", `${base}/secrets_store/stores`, { json: { name } });
    printResult(context, store, () => [`Created the store ${store.name}: ${store.id}`]);
    return 0;
  },
});

const storeList = defineCommand({
  name: "secrets-store store list",
  summary: "list the secrets stores",
  options: storageOptions,
  examples: [["reelpost secrets-store store list", "lists the stores with their ids"]],
  async run(values, _, context) {
    const { api, base } = await connectStorage(values, context);
    const stores = await collectItems(pagesOf<RemoteStore>(api, `${base}/secrets_store/stores`, { perPage: 100 }));
    printResult(context, stores, (paint) =>
      table(
        ["name", "id", "created"],
        stores.map(({ name, id, created }) => [name, id, formatUtcTime(created)]),
        paint,
      ),
    );
    return 0;
  },
});

const storeDelete = defineCommand({
  name: "secrets-store store delete",
  summary: "delete a store and its secrets",
  arguments: [storeArgument],
  options: { ...yesOption, ...storageOptions },
  examples: [["reelpost secrets-store store delete <store-id> --yes", "deletes without a prompt, for scripts"]],
  async run({ yes, ...values }, [id], context) {
    const { api, base } = await connectStorage(values, context);
    await confirm(`Delete the store ${id} and its secrets?`, yes, context);
    await api.result("DELETE", `${base}/secrets_store/stores${at`/${id!}`}`, { query: { force: true } });
    printResult(context, { id, deleted: true }, () => [`Deleted the store ${id}`]);
    return 0;
  },
});

const secretCreate = defineCommand({
  name: "secrets-store secret create",
  summary: "create a secret in a store",
  description: `Prompts for the value without showing it, or reads it from standard input and removes one trailing line break. Workers with a binding
in \`secrets_store_secrets\` read it with \`env.NAME.get()\`.`,
  arguments: [storeArgument, nameArgument],
  options: { ...newSecretOptions, ...storageOptions },
  examples: [["reelpost secrets-store secret create <store-id> api-key", "prompts for the value"]],
  async run(values, [store, name], context) {
    const { api, secretsPath } = await connectSecrets(values, store!, context);
    const value = await readSecretValue(name!, context);
    const [secret] = await api.result<RemoteSecret[]>("POST", secretsPath, {
      json: [{ ...newSecret(name!, values), value }],
    });
    printResult(context, secret!, () => [`Created the secret ${secret!.name}: ${secret!.id}`]);
    return 0;
  },
});

const secretList = defineCommand({
  name: "secrets-store secret list",
  summary: "list the secrets of a store",
  arguments: [storeArgument],
  options: storageOptions,
  examples: [["reelpost secrets-store secret list <store-id>", "lists names and ids, never values"]],
  async run(values, [store], context) {
    const { api, secretsPath } = await connectSecrets(values, store!, context);
    const remoteSecrets = await collectItems(pagesOf<RemoteSecret>(api, secretsPath, { perPage: 100 }));
    printResult(context, remoteSecrets, (paint) =>
      table(
        ["name", "id", "scopes", "modified", "comment"],
        remoteSecrets.map(({ name, id, scopes, modified, comment }) => [
          name,
          id,
          scopes.join(", "),
          formatUtcTime(modified),
          comment,
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const secretGet = defineCommand({
  name: "secrets-store secret get",
  summary: "show a secret without its value",
  arguments: [storeArgument, secretArgument],
  options: storageOptions,
  examples: [["reelpost secrets-store secret get <store-id> <secret-id>", "shows its name, scopes and comment"]],
  async run(values, [store, id], context) {
    const { api, secretsPath } = await connectSecrets(values, store!, context);
    const secret = await api.result<RemoteSecret>("GET", `${secretsPath}${at`/${id!}`}`);
    printResult(context, secret, (paint) => secretFacts(secret, paint));
    return 0;
  },
});

const secretUpdate = defineCommand({
  name: "secrets-store secret update",
  summary: "update a secret",
  description: `Updates the scopes and the comment if the options are passed. With \`--new-value\`, prompts for a new value, or reads it from standard input.
Workers read the new value at their next \`get()\`.`,
  arguments: [storeArgument, secretArgument],
  options: {
    "new-value": { type: "boolean", summary: "set a new value" },
    scopes: { type: "string", placeholder: "list", summary: scopesSummary },
    ...commentOption,
    ...storageOptions,
  },
  examples: [
    [
      "reelpost secrets-store secret update <store-id> <secret-id> --new-value < key.txt",
      "reads the value from a file",
    ],
  ],
  async run(values, [store, id], context) {
    const { api, secretsPath } = await connectSecrets(values, store!, context);
    const { scopes, comment } = values;
    const value = values["new-value"] === true ? await readSecretValue(id!, context) : undefined;
    const secret = await api.result<RemoteSecret>("PATCH", `${secretsPath}${at`/${id!}`}`, {
      json: { value, scopes: scopes?.split(","), comment },
    });
    printResult(context, secret, () => [`Updated the secret ${secret.name}`]);
    return 0;
  },
});

const secretDuplicate = defineCommand({
  name: "secrets-store secret duplicate",
  summary: "create a secret with the value of another secret",
  arguments: [storeArgument, secretArgument, nameArgument],
  options: { ...newSecretOptions, ...storageOptions },
  examples: [
    ["reelpost secrets-store secret duplicate <store-id> <secret-id> copy", "creates `copy` in the same store"],
  ],
  async run(values, [store, id, name], context) {
    const { api, secretsPath } = await connectSecrets(values, store!, context);
    const secret = await api.result<RemoteSecret>("POST", `${secretsPath}${at`/${id!}`}/duplicate`, {
      json: newSecret(name!, values),
    });
    printResult(context, secret, () => [`Created the secret ${secret.name}: ${secret.id}`]);
    return 0;
  },
});

const secretDelete = defineCommand({
  name: "secrets-store secret delete",
  summary: "delete a secret from a store",
  arguments: [storeArgument, secretArgument],
  options: { ...yesOption, ...storageOptions },
  examples: [
    ["reelpost secrets-store secret delete <store-id> <secret-id> --yes", "deletes without a prompt, for scripts"],
  ],
  async run({ yes, ...values }, [store, id], context) {
    const { api, secretsPath } = await connectSecrets(values, store!, context);
    await confirm(`Delete the secret ${id}? Workers that use it will fail.`, yes, context);
    await api.result("DELETE", `${secretsPath}${at`/${id!}`}`);
    printResult(context, { id, deleted: true }, () => [`Deleted the secret ${id}`]);
    return 0;
  },
});

async function connectSecrets(values: Parameters<typeof connectStorage>[0], store: string, context: CommandContext) {
  const { api, base } = await connectStorage(values, context);
  return { api, secretsPath: `${base}/secrets_store/stores${at`/${store}`}/secrets` };
}

const newSecret = (name: string, values: { scopes: string | undefined; comment: string | undefined }) => ({
  name,
  scopes: (values.scopes ?? "workers").split(","),
  comment: values.comment,
});

const readSecretValue = async (name: string, context: CommandContext): Promise<string> =>
  canAsk(context)
    ? askHidden(`Value of ${name}: `, context)
    : (await readStdin(context, MAX_VALUE_BYTES)).toString().replace(/\r?\n$/, "");

const secretFacts = (
  { name, id, scopes, comment, created, modified }: RemoteSecret,
  paint: Parameters<typeof nameValueLines>[1],
) =>
  nameValueLines(
    [
      ["name", name],
      ["id", id],
      ["scopes", scopes.join(", ")],
      ["comment", comment === "" ? undefined : comment],
      ["created", formatUtcTime(created)],
      ["modified", formatUtcTime(modified)],
    ],
    paint,
  );

export const secretsStoreCommands: readonly Command[] = [
  storeCreate,
  storeList,
  storeDelete,
  secretCreate,
  secretList,
  secretGet,
  secretUpdate,
  secretDuplicate,
  secretDelete,
];

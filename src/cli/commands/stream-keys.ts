import { connectToApi } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { nameValueLines, formatUtcTime, printResult, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

interface NewKey {
  id: string;
  pem: string;
  jwk: string;
  created: string;
}

const streamKeysCreate = defineCommand({
  name: "stream keys create",
  summary: "create a key that signs playback tokens offline",
  description: "The private key is shown once, as base64 PEM and JWK.",
  options: serverOptions,
  examples: [["reelpost stream keys create --json > key.json", "saves the private key for the signing program"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const key = await api.result<NewKey>("POST", `${base}/stream/keys`);
    printResult(context, key, (paint) =>
      nameValueLines(
        [
          ["id", key.id],
          ["created", formatUtcTime(key.created)],
          ["pem", key.pem],
          ["jwk", key.jwk],
        ],
        paint,
      ),
    );
    if (!context.json) context.stderr.line("It will not be shown again.");
    return 0;
  },
});

const streamKeysList = defineCommand({
  name: "stream keys list",
  summary: "list signing keys",
  options: serverOptions,
  examples: [["reelpost stream keys list", "without private keys"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const keys = await api.result<{ id: string; created: string }[]>("GET", `${base}/stream/keys`);
    printResult(context, keys, (paint) =>
      keys.length === 0
        ? ["No keys."]
        : table(
            ["id", "created"],
            keys.map(({ id, created }) => [id, formatUtcTime(created)]),
            paint,
          ),
    );
    return 0;
  },
});

const streamKeysDelete = defineCommand({
  name: "stream keys delete",
  summary: "delete a signing key; its tokens stop working",
  arguments: [{ name: "id", summary: "id of the key", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost stream keys delete 91ab… --yes", "in a script"]],
  async run({ yes, ...values }, [id], context) {
    const { api, base } = await connectToApi(values, context);
    await confirm(`Delete the signing key ${id!}? Tokens signed with it stop working.`, yes, context);
    await api.result("DELETE", `${base}/stream/keys${at`/${id!}`}`);
    printResult(context, { id, deleted: true }, () => [`Deleted ${id!}`]);
    return 0;
  },
});

export const streamKeysCommands: readonly Command[] = [streamKeysCreate, streamKeysList, streamKeysDelete];

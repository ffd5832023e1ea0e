import { connect } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { facts, moment, printResult, table } from "../print.ts";
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
  async run(values, _, surroundings) {
    const { api, base } = await connect(values, surroundings);
    const key = await api.result<NewKey>("POST", `${base}/stream/keys`);
    printResult(surroundings, key, (paint) =>
      facts(
        [
          ["id", key.id],
          ["created", moment(key.created)],
          ["pem", key.pem],
          ["jwk", key.jwk],
        ],
        paint,
      ),
    );
    if (!surroundings.json) surroundings.stderr.line("It is not shown again.");
    return 0;
  },
});

const streamKeysList = defineCommand({
  name: "stream keys list",
  summary: "list signing keys",
  options: serverOptions,
  examples: [["reelpost stream keys list", "without private keys"]],
  async run(values, _, surroundings) {
    const { api, base } = await connect(values, surroundings);
    const keys = await api.result<{ id: string; created: string }[]>("GET", `${base}/stream/keys`);
    printResult(surroundings, keys, (paint) =>
      keys.length === 0
        ? ["No keys."]
        : table(
            ["id", "created"],
            keys.map(({ id, created }) => [id, moment(created)]),
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
  async run({ yes, ...values }, [id], surroundings) {
    const { api, base } = await connect(values, surroundings);
    await confirm(`Delete the signing key ${id!}? Tokens signed with it stop working.`, yes, surroundings);
    await api.result("DELETE", `${base}/stream/keys${at`/${id!}`}`);
    printResult(surroundings, { id, deleted: true }, () => [`${id!} is deleted`]);
    return 0;
  },
});

export const streamKeysCommands: readonly Command[] = [streamKeysCreate, streamKeysList, streamKeysDelete];

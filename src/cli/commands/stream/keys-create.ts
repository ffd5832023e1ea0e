import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { facts, moment, printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

interface NewKey {
  id: string;
  pem: string;
  jwk: string;
  created: string;
}

export const streamKeysCreate = defineCommand({
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

import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { moment, printResult, table } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const streamKeysList = defineCommand({
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

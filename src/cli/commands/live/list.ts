import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import type { ListedInput } from "../../live/input.ts";
import { moment, printResult, table } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveList = defineCommand({
  name: "live list",
  summary: "list live inputs, newest first",
  options: {
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 1000,
      summary: "maximum number of entries",
      defaultText: "100",
    },
    ...serverOptions,
  },
  examples: [["reelpost live list", "without keys, which `reelpost live show` prints"]],
  async run({ limit = 100, ...values }, _, surroundings) {
    const { api, base } = await connect(values, surroundings);
    const { liveInputs, total = 0 } = await api.result<{ liveInputs: ListedInput[]; total?: number }>(
      "GET",
      `${base}/stream/live_inputs`,
      { query: { per_page: limit, include_counts: true } },
    );
    printResult(surroundings, liveInputs, (paint) =>
      liveInputs.length === 0
        ? ["No live inputs."]
        : table(
            ["uid", "name", "enabled", "created"],
            liveInputs.map(({ uid, meta, enabled, created }) => [
              uid,
              meta["name"],
              enabled ? "yes" : "no",
              moment(created),
            ]),
            paint,
          ),
    );
    if (total > liveInputs.length && !surroundings.json)
      surroundings.stderr.line(`${liveInputs.length} of ${total} live inputs: --limit shows more`);
    return 0;
  },
});

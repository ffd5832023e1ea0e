import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { liveErrors } from "../../live/errors.ts";
import { inputArgument, inputLines, inputPath, type LiveInput } from "../../live/input.ts";
import { inputBody, inputOptions } from "../../live/settings.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveUpdate = defineCommand({
  name: "live update",
  summary: "update a live input; omitted options keep their values",
  description: "Recording settings apply to later broadcasts.",
  arguments: [inputArgument],
  options: { ...inputOptions, ...serverOptions },
  examples: [
    ["reelpost live update 66be… --recording automatic --delete-after 45", "keeps each recording for 45 days"],
    ["reelpost live update 66be… --allowed-origin '*'", "allows all pages again"],
  ],
  async run({ url, token, account, ...settings }, [uid], surroundings) {
    if (Object.keys(inputBody(settings)).length === 0) throw liveErrors.nothingToChange();
    const connection = await connect({ url, token, account }, surroundings);
    const path = inputPath(connection, uid!);
    // Preserves the other fields of `meta`.
    const { meta } = settings.name === undefined ? { meta: {} } : await connection.api.result<LiveInput>("GET", path);
    const input = await connection.api.result<LiveInput>("PUT", path, { json: inputBody(settings, meta) });
    printResult(surroundings, input, (paint) => inputLines(input, paint));
    return 0;
  },
});

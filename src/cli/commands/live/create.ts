import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputLines, type LiveInput } from "../../live/input.ts";
import { inputBody, inputOptions } from "../../live/settings.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveCreate = defineCommand({
  name: "live create",
  summary: "create a live input, and show how to publish to it",
  description:
    "Publish with the URL and key of RTMPS or SRT, or with the WHIP URL, any number of times. With --recording automatic, each broadcast becomes a video.",
  options: {
    ...inputOptions,
    disabled: { type: "boolean", summary: "create the input disabled; enable it with `reelpost live enable`" },
    "idempotency-key": {
      type: "string",
      placeholder: "text",
      summary: "idempotency key: the same value creates no second input within six hours",
    },
    ...serverOptions,
  },
  examples: [
    ["reelpost live create --name Stage --recording automatic", "prints URL and key for OBS"],
    ["reelpost live create --recording automatic --json > input.json", "for programs"],
  ],
  async run({ disabled, "idempotency-key": key, url, token, account, ...settings }, _, surroundings) {
    const { api, base } = await connect({ url, token, account }, surroundings);
    const json = { ...inputBody(settings), ...(disabled === true && { enabled: false }) };
    const input = await api.result<LiveInput>("POST", `${base}/stream/live_inputs`, {
      json,
      ...(key !== undefined && { headers: { "idempotency-key": key } }),
    });
    printResult(surroundings, input, (paint) => inputLines(input, paint));
    return 0;
  },
});

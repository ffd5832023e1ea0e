import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { inputLines, type LiveInput } from "../../live/input.ts";
import { inputBody, inputOptions } from "../../live/settings.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveCreate = defineCommand({
  name: "live create",
  summary: "make a live input, and show what to publish with",
  description:
    "Publish with the address and the key of RTMPS or SRT, or with the WHIP address, again and again: each broadcast becomes a video where --recording is automatic.",
  options: {
    ...inputOptions,
    disabled: { type: "boolean", summary: "nobody may publish before `reelpost live enable`" },
    "idempotency-key": {
      type: "string",
      placeholder: "text",
      summary: "the same text within six hours makes no second one",
    },
    ...serverOptions,
  },
  examples: [
    ["reelpost live create --name Stage --recording automatic", "for OBS: the address and the key"],
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

import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { facts, moment, printResult } from "../../print.ts";
import { readMoment } from "../../read-moment.ts";
import { serverOptions } from "../../shared-options.ts";
import { readRule, ruleOption } from "../../stream/access-rules.ts";
import { withToken } from "../../stream/delivered.ts";
import { videoArgument, videoPath, type Video } from "../../stream/video.ts";

export const streamToken = defineCommand({
  name: "stream token",
  summary: "sign a token that replaces the uid of a video",
  description:
    "The token grants playback until it expires. An unprotected video (without --signed) also plays with its uid.",
  arguments: [videoArgument],
  options: {
    expires: { type: "string", placeholder: "time", summary: "expiration: 2h, 1d or a time", defaultText: "1h" },
    "not-before": {
      type: "string",
      placeholder: "time",
      summary: "start of validity: 2h, 1d or a time",
      defaultText: "now",
    },
    downloadable: { type: "boolean", summary: "allow downloading MP4 and M4A" },
    original: { type: "boolean", summary: "allow downloading the uploaded file" },
    ...ruleOption,
    ...serverOptions,
  },
  examples: [
    ["reelpost stream token 91ab… --expires 12h", "URLs that are valid for half a day"],
    ["reelpost stream token 91ab… --rule allow:country:DE,AT --rule block:any", "playable in two countries only"],
  ],
  async run({ expires = "1h", "not-before": begins, downloadable, original, rule, ...values }, [uid], surroundings) {
    const now = surroundings.clock.now();
    const seconds = (option: string, text: string) =>
      Math.floor(Date.parse(readMoment(option, text, now, "future")) / 1000);
    const exp = seconds("--expires", expires);
    const claims = {
      exp,
      ...(begins !== undefined && { nbf: seconds("--not-before", begins) }),
      ...(downloadable === true && { downloadable }),
      ...(original === true && { flags: { original } }),
      ...(rule.length > 0 && { accessRules: rule.map(readRule) }),
    };
    const connection = await connect(values, surroundings);
    const path = videoPath(connection, uid!);
    const video = await connection.api.result<Video>("GET", path);
    const { token } = await connection.api.result<{ token: string }>("POST", `${path}/token`, { json: claims });
    const to = (address: string) => withToken(address, video.uid, token);
    const signed = {
      token,
      expires: new Date(exp * 1000).toISOString(),
      watch: to(video.preview),
      hls: to(video.playback.hls),
      dash: to(video.playback.dash),
    };
    printResult(surroundings, signed, (paint) =>
      facts(
        [
          ["token", token],
          ["watch", signed.watch],
          ["hls", signed.hls],
          ["dash", signed.dash],
          ["expires", moment(signed.expires)],
        ],
        paint,
      ),
    );
    return 0;
  },
});

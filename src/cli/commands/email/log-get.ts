import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { storyLines } from "../../email/log.ts";
import { readStories } from "../../email/log-query.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailLogGet = defineCommand({
  name: "email log get",
  summary: "show the events of a message",
  arguments: [{ name: "message", summary: "message id as listed in the log, or the id of an entry", required: true }],
  options: serverOptions,
  examples: [["reelpost email log get 1f0c3a5b7d92", "all recipients of the message"]],
  async run(values, [message], surroundings) {
    const { api, base } = await connect(values, surroundings);
    const stories = await readStories(api, base, message!);
    printResult(surroundings, stories, (paint) =>
      stories.flatMap((story, i) => [...(i === 0 ? [] : ["", ""]), ...storyLines(story, paint)]),
    );
    return 0;
  },
});

import { defineCommand } from "../command.ts";
import { onInterrupt } from "../interrupt.ts";
import { painter } from "../print.ts";
import { workerOptions } from "../shared-options.ts";
import { STATUSES, filtersOf } from "../tail/filters.ts";
import { connectWorker } from "../worker-of.ts";

export const tail = defineCommand({
  name: "tail",
  summary: "show what a deployed worker does, as it does it",
  description: `Prints messages, requests and schedules with their logs and exceptions until Ctrl-C. A connection that is lost is made again, after 1, 2, 4, 8 and 16 seconds.

With --json every record is one JSON object on a line; --format json indents them.`,
  arguments: [{ name: "worker", summary: "its name (default: the one of the configuration)" }],
  options: {
    status: {
      type: "string",
      placeholder: "status",
      multiple: true,
      choices: STATUSES,
      summary: "only these outcomes",
    },
    method: { type: "string", placeholder: "method", multiple: true, summary: "only requests of these methods" },
    header: { type: "string", placeholder: "name[:text]", multiple: true, summary: "only requests with this header" },
    search: { type: "string", placeholder: "text", summary: "only what logged or threw this text" },
    "sampling-rate": { type: "string", placeholder: "0-1", summary: "only a part, chosen at random" },
    "version-id": { type: "string", placeholder: "id", summary: "only this version" },
    format: {
      type: "string",
      placeholder: "format",
      choices: ["pretty", "json"],
      summary: "how records are printed",
      defaultText: "pretty",
    },
    ...workerOptions,
  },
  examples: [
    ["reelpost tail", "the worker of this folder"],
    ["reelpost tail my-worker --status error", "only what fails"],
    ["reelpost tail --json | jq .exceptions", "for a program"],
  ],
  async run(values, [worker], surroundings) {
    const { json, stderr } = surroundings;
    const filters = filtersOf(values);
    const connection = await connectWorker(values, surroundings, worker);
    const [{ readTail }, { jsonPrinter, prettyPrinter }] = await Promise.all([
      import("../tail/session.ts"),
      import("../tail/printer.ts"),
    ]);
    const printer =
      json || values.format === "json"
        ? jsonPrinter(surroundings, { lines: json })
        : prettyPrinter(surroundings, connection.name);
    const paint = painter(stderr);
    const interrupt = onInterrupt();
    try {
      await readTail({
        ...connection,
        filters,
        signal: interrupt.signal,
        onOpen: () => stderr.line(paint("dim", `connected to ${connection.name}; Ctrl-C ends`)),
        onFrame: (frame) => printer.print(frame),
        onLost: (reason, seconds) => stderr.line(paint("yellow", `${reason}; trying again in ${seconds} s`)),
      });
      await printer.flushed();
      return 0;
    } finally {
      interrupt.release();
    }
  },
});

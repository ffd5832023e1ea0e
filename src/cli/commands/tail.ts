import { painter } from "../../kernel/paint.ts";
import { defineCommand } from "../command.ts";
import { onInterrupt } from "../interrupt.ts";
import { workerOptions } from "../shared-options.ts";
import { STATUSES, filtersOf } from "../tail/filters.ts";
import { connectWorker } from "../worker-of.ts";

export const tail = defineCommand({
  name: "tail",
  summary: "stream the logs of a deployed worker",
  description: `Prints messages, requests and scheduled runs with their logs and exceptions until Ctrl-C. Reconnects after 1, 2, 4, 8 and 16 seconds.

With --json each record is one JSON object per line; --format json indents them.`,
  arguments: [{ name: "worker", summary: "name of the worker (default: from the configuration)" }],
  options: {
    status: {
      type: "string",
      placeholder: "status",
      multiple: true,
      choices: STATUSES,
      summary: "only these outcomes",
    },
    method: { type: "string", placeholder: "method", multiple: true, summary: "only requests with these methods" },
    header: { type: "string", placeholder: "name[:text]", multiple: true, summary: "only requests with this header" },
    search: { type: "string", placeholder: "text", summary: "only events whose logs or exceptions contain this text" },
    "sampling-rate": {
      type: "string",
      placeholder: "0-1",
      summary: "share of the events to print, selected at random",
    },
    "version-id": { type: "string", placeholder: "id", summary: "only this version" },
    format: {
      type: "string",
      placeholder: "format",
      choices: ["pretty", "json"],
      summary: "output format",
      defaultText: "pretty",
    },
    ...workerOptions,
  },
  examples: [
    ["reelpost tail", "the worker in this folder"],
    ["reelpost tail my-worker --status error", "failed events only"],
    ["reelpost tail --json | jq .exceptions", "exceptions as JSON, for scripts"],
  ],
  async run(values, [worker], context) {
    const { json, stderr } = context;
    const filters = filtersOf(values);
    const connection = await connectWorker(values, context, worker);
    const [{ readTail }, { jsonPrinter, prettyPrinter }] = await Promise.all([
      import("../tail/session.ts"),
      import("../tail/printer.ts"),
    ]);
    const printer =
      json || values.format === "json"
        ? jsonPrinter(context, { lines: json })
        : prettyPrinter(context, connection.name);
    const paint = painter(stderr);
    const interrupt = onInterrupt();
    try {
      await readTail({
        ...connection,
        filters,
        signal: interrupt.signal,
        onOpen: () => stderr.line(paint("dim", `connected to ${connection.name}; press Ctrl-C to stop`)),
        onFrame: (frame) => printer.print(frame),
        onLost: (reason, seconds) => stderr.line(paint("yellow", `${reason}; retrying in ${seconds} s`)),
      });
      await printer.flushed();
      return 0;
    } finally {
      interrupt.release();
    }
  },
});

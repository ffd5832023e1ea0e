import { painter, type Paint } from "../../kernel/paint.ts";
import type {
  DevEvent,
  EmailEvent,
  ExplainedException,
  FetchEvent,
  ConsoleLine,
  MailAction,
  EventReporter,
  QueueEvent,
  TailEvent,
  ScheduledEvent,
} from "../events.ts";
import { type TerminalOutput } from "./output.ts";
import { truncate, formatMs, formatSize, indent, logArguments, logText, oneLine } from "./text.ts";

/** A looping worker can log endlessly, so the output of one event is limited. */
const MAX_LOG_LINES = 200;
const MAX_EXCEPTIONS = 10;

interface Options {
  output: TerminalOutput;
  /** Prefixes events with the worker's name if there are several workers. */
  severalWorkers?: boolean;
}

/** Prints events for people: one line per event, with indented details. */
export function createConsole({ output, severalWorkers = false }: Options): EventReporter {
  const paint = painter(output);
  const render = createRenderer(paint, output.colour, severalWorkers);
  return (event) => output.write(render(event));
}

/** Prints events for programs: one JSON object per line. */
export const createJsonLines =
  ({ output }: { output: TerminalOutput }): EventReporter =>
  (event) =>
    output.write(JSON.stringify(jsonOf(event)));

const jsonOf = (event: DevEvent) =>
  "logs" in event
    ? { ...event, logs: event.logs.slice(0, MAX_LOG_LINES), exceptions: event.exceptions.slice(0, MAX_EXCEPTIONS) }
    : event;

function createRenderer(paint: Paint, colour: boolean, severalWorkers: boolean): (event: DevEvent) => string {
  const prefix = (worker: string) => (severalWorkers ? `${paint("magenta", `[${worker}]`)} ` : "");
  const levels = {
    debug: paint("dim", "debug"),
    log: paint("dim", "log  "),
    info: paint("cyan", "info "),
    warn: paint("yellow", "warn "),
    error: paint("red", "error"),
  };

  function logLines(logs: ConsoleLine[]): string[] {
    const lines = logs
      .slice(0, MAX_LOG_LINES)
      .map(
        ({ level, message }) => `  ${levels[level]}  ${indent(logText(logArguments(message), colour), "         ")}`,
      );
    if (logs.length > MAX_LOG_LINES) lines.push(paint("dim", `  ... ${logs.length - MAX_LOG_LINES} more log lines`));
    return lines;
  }

  function actionLines({ action, to, files }: MailAction, pad = "  "): string[] {
    const verb = { forward: "forwarded to", reply: "replied to", send: "sent to" }[action];
    return [
      `${pad}${paint("blue", verb)} ${oneLine(to.join(", "))}`,
      ...files.map((file) => `${pad}  ${paint("dim", file)}`),
    ];
  }

  function exceptionLines(exceptions: ExplainedException[]): string[] {
    return exceptions.slice(0, MAX_EXCEPTIONS).flatMap(({ name, message, stack, help }) => {
      const text = stack?.includes(message) ? stack : `${name}: ${message}${stack ? `\n${stack}` : ""}`;
      return [
        `  ${paint("red", indent(logText(truncate(text, 8192), false), "  "))}`,
        ...(help === undefined ? [] : [`  ${paint("yellow", indent(help, "  "))}`]),
      ];
    });
  }

  function email(event: EmailEvent): string {
    const { from, to, rawSize, wallMs, warnings, logs, actions, exceptions, outcome, rejected } = event;
    const lines = [
      `${prefix(event.worker)}${paint("bold", "email")}  ${oneLine(from) || "<>"} -> ${oneLine(to)}  ${formatSize(rawSize)}  ${paint("dim", formatMs(wallMs))}`,
    ];
    for (const warning of warnings)
      lines.push(`  ${paint("yellow", "warning")}  ${indent(oneLine(warning, 2000), "  ")}`);
    lines.push(...logLines(logs), ...actions.flatMap((action) => actionLines(action)), ...exceptionLines(exceptions));
    if (rejected !== undefined) lines.push(`  ${paint("yellow", "rejected")}: ${oneLine(rejected, 2000)}`);
    else lines.push(`  ${outcomeWord(outcome)}`);
    return lines.join("\n");
  }

  function fetch(event: FetchEvent): string {
    const { method, url, status, wallMs } = event;
    const statusText =
      status === undefined
        ? ""
        : ` ${paint(status >= 500 ? "red" : status >= 400 ? "yellow" : "green", String(status))}`;
    return [
      `${prefix(event.worker)}${paint("bold", oneLine(method))} ${oneLine(pathOf(url))}${statusText} ${paint("dim", formatMs(wallMs))}`,
      ...logLines(event.logs),
      ...event.actions.flatMap((action) => actionLines(action)),
      ...exceptionLines(event.exceptions),
      ...failureLines(event),
    ].join("\n");
  }

  function renderScheduled(event: ScheduledEvent): string {
    const { cron, scheduledTime, wallMs, outcome } = event;
    const head = `${prefix(event.worker)}${paint("bold", "scheduled")} ${cron === "" ? "" : `"${oneLine(cron)}" `}@ ${scheduledTime.toISOString()} ${paint("dim", formatMs(wallMs))}`;
    return [
      head,
      ...logLines(event.logs),
      ...event.actions.flatMap((action) => actionLines(action)),
      ...exceptionLines(event.exceptions),
      `  ${outcomeWord(outcome)}`,
    ].join("\n");
  }

  function queue(event: QueueEvent): string {
    const { queue: name, batchSize } = event;
    return batchLines(event, `${paint("bold", "queue")} ${oneLine(name)} ${formatCount(batchSize, "message")}`);
  }

  function tail(event: TailEvent): string {
    const { consumed } = event;
    const names = [...new Set(consumed)].join(", ");
    return batchLines(
      event,
      `${paint("bold", "tail")} ${oneLine(names)} ${formatCount(consumed.length, "invocation")}`,
    );
  }

  function batchLines(event: QueueEvent | TailEvent, head: string): string {
    return [
      `${prefix(event.worker)}${head} ${paint("dim", formatMs(event.wallMs))}`,
      ...logLines(event.logs),
      ...event.actions.flatMap((action) => actionLines(action)),
      ...exceptionLines(event.exceptions),
      `  ${outcomeWord(event.outcome)}`,
    ].join("\n");
  }

  /** Returns a failure that the exceptions of the event do not show. */
  const failureLines = ({ outcome, exceptions }: Pick<FetchEvent, "outcome" | "exceptions">): string[] =>
    outcome === "ok" || (outcome === "exception" && exceptions.length > 0) ? [] : [`  ${outcomeWord(outcome)}`];

  const outcomeWord = (outcome: EmailEvent["outcome"]) =>
    outcome === "ok" ? paint("green", "ok") : paint("red", OUTCOMES[outcome]);

  return (event) => {
    switch (event.event) {
      case "email":
        return email(event);
      case "fetch":
        return fetch(event);
      case "scheduled":
        return renderScheduled(event);
      case "queue":
        return queue(event);
      case "tail":
        return tail(event);
      case "other":
        return [
          `${prefix(event.worker)}${paint("bold", oneLine(event.name))} ${paint("dim", formatMs(event.wallMs))}`,
          ...logLines(event.logs),
          ...exceptionLines(event.exceptions),
          ...failureLines(event),
        ].join("\n");
      case "sent":
        return [`${prefix(event.worker)}${actionLines(event, "").join("\n")}`].join("\n");
      case "refused":
        return `${paint("bold", "email")}  ${oneLine(event.from) || "<>"} -> ${oneLine(event.to.join(", ")) || "(no recipient)"}  ${paint("yellow", "refused")}\n  ${indent(oneLine(event.reason, 2000), "  ")}`;
      case "built":
        return `${prefix(event.worker)}${paint("green", event.reason === "start" ? "ready" : "rebuilt")} ${event.worker} ${paint("dim", `${formatSize(event.bytes)} in ${formatMs(event.ms)}`)}`;
      case "unchanged":
        return `${prefix(event.worker)}${paint("dim", `${event.worker}: the build is unchanged`)}`;
      case "build-failed":
        return `${prefix(event.worker)}${paint("red", "build failed")}\n  ${indent(logText(truncate(event.message, 16_384), false), "  ")}${event.running ? `\n  ${paint("dim", "the previous build keeps running")}` : ""}`;
      case "notice":
        return event.text;
      case "warning":
        // Each entry of a report has its own severity after its position.
        return REPORT.test(event.text)
          ? event.text.replaceAll(REPORT_WORD, `$1${paint("yellow", "warning")}`)
          : `${paint("yellow", "warning")}${block(event.text)}`;
      case "error":
        return `${paint("red", "error")}${block(event.text)}`;
    }
  };
}

/** Matches a report whose first line begins with a position and the severity "warning". */
const REPORT = /^\S[^\n]*?: warning: /;
const REPORT_WORD = /^(\S.*?: )warning(?=: )/gm;

const formatCount = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

const block = (text: string) => (text.includes("\n") ? `\n  ${indent(text, "  ")}` : `  ${text}`);

const OUTCOMES: Record<EmailEvent["outcome"], string> = {
  ok: "ok",
  exception: "exception",
  exceededCpu: "exceeded its CPU limit and was stopped",
  exceededMemory: "exceeded its memory limit and was stopped",
  exceededWallTime: "took too long and was stopped",
  canceled: "canceled",
};

function pathOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? url : parsed.pathname + parsed.search;
}

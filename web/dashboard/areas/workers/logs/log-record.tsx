import { memo, useState } from "react";
import { CodeView } from "../../../shared/code-view.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { StatusBadge, type Tone } from "../../../shared/status-badge.tsx";
import { shortId } from "../queries.ts";
import { OUTCOMES } from "./filter-form.tsx";
import { eventText, messageText, type TailRecord } from "./record.ts";

const TONES: Record<string, Tone> = { ok: "good", canceled: "neutral" };
const LEVEL_TONES: Record<string, Tone> = { error: "bad", warn: "warning", info: "info" };
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

const outcomeLabel = (outcome: string) => OUTCOMES.find(({ value }) => value === outcome)?.label ?? outcome;

/** One invocation: its event, log lines and exceptions; all fields on request. */
export const LogRecord = memo(function LogRecord({ record }: { record: TailRecord }) {
  const [isOpen, setOpen] = useState(false);
  const { outcome, eventTimestamp, logs, exceptions, cpuTime, wallTime, scriptVersion, truncated } = record;
  const version = scriptVersion?.id ?? "";
  return (
    <li>
      <button type="button" className="rp-workers-event" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "chevron-down" : "chevron-right"} size={14} />
        <time dateTime={new Date(eventTimestamp).toISOString()}>{clock.format(eventTimestamp)}</time>
        <StatusBadge tone={TONES[outcome] ?? "bad"}>{outcomeLabel(outcome)}</StatusBadge>
        <span className="rp-workers-event-text">{eventText(record)}</span>
        <span className="rp-dimmed rp-nowrap">
          {Math.round(wallTime)} ms, CPU {Math.round(cpuTime)} ms{version !== "" && `, ${shortId(version)}`}
        </span>
      </button>
      {logs.map(({ message, level }, index) => (
        <div key={index} className="rp-workers-line-of-log" data-tone={LEVEL_TONES[level] ?? "neutral"}>
          <span>{level}</span>
          <pre>{messageText(message)}</pre>
        </div>
      ))}
      {exceptions.map(({ name, message, stack }, index) => (
        <div key={index} className="rp-workers-line-of-log" data-tone="bad">
          <span>exception</span>
          <pre>
            {name}: {message}
            {stack !== undefined && `\n${stack}`}
          </pre>
        </div>
      ))}
      {truncated && <p className="rp-dimmed">Log lines over the limit were cut.</p>}
      {isOpen && <CodeView label="Log entry" text={JSON.stringify(record, null, 2)} maxHeight="20rem" />}
    </li>
  );
});

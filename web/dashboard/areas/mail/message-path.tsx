import { Anchor, Paper } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CodeView } from "../../shared/code-view.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { formatTime, RelativeTime } from "../../shared/format.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import { capitalized } from "../../shared/text.ts";
import type { Message } from "./queries.ts";
import { RuleName } from "./rule-name.tsx";

const DELIVERY_TONES: Record<Message["deliveries"][number]["status"], Tone> = {
  "handed over": "info",
  queued: "info",
  deferred: "warning",
  delivered: "good",
  failed: "bad",
};

/** The matching rule, linked to the rules of its domain. */
export function RuleLink({ message: { rule, zone_id: zone } }: { message: Message }) {
  // Absent for sent messages, and for received ones that no rule matched.
  if ((rule as typeof rule | null) === null) return <span className="rp-dimmed">None</span>;
  if (zone === null) return rule.name ?? rule.id;
  return (
    <Anchor fz="sm" renderRoot={(props) => <Link to={`/mail/domains/${zone}/rules`} {...props} />}>
      <RuleName zoneId={zone} rule={rule} />
    </Anchor>
  );
}

/** Forwards, replies and sent copies, each with the response from its next hop. */
export function Deliveries({ message: { deliveries } }: { message: Message }) {
  if (deliveries.length === 0) return null;
  return (
    <Section title="Deliveries" description="Each forwarded or sent copy, with the last response from the next hop.">
      <Paper p={0}>
        <ul className="rp-mail-rows" aria-label="Deliveries">
          {deliveries.map(({ to, status, host, code, enhanced_code: enhanced, response, reply, modified }, index) => (
            <li key={index}>
              <span className="rp-mail-method">
                <StatusBadge tone={DELIVERY_TONES[status]}>{capitalized(status)}</StatusBadge>
              </span>
              <div>
                {reply ? "Reply to " : ""}
                <b>{to}</b> <span className="rp-dimmed">{host}</span> <RelativeTime value={modified} />
                <div className="rp-dimmed rp-mono">{[code, enhanced, response].filter(Boolean).join(" ")}</div>
              </div>
            </li>
          ))}
        </ul>
      </Paper>
    </Section>
  );
}

export function WorkerLogs({ message: { worker_logs: lines, worker } }: { message: Message }) {
  if (lines.length === 0) return null;
  return (
    <Section title="Worker log" {...(worker !== null && { description: `Lines that ${worker} logged.` })}>
      <CodeView
        label="Worker log lines"
        wrap
        text={lines.map(({ datetime, level, text }) => `${formatTime(datetime)}  ${level}  ${text}`).join("\n")}
      />
    </Section>
  );
}

/** Replies and bounces that the message caused. */
export function Related({ message: { related } }: { message: Message }) {
  if (related.length === 0) return null;
  return (
    <Section title="Replies and bounces">
      <Paper p={0}>
        <ul className="rp-mail-rows" aria-label="Replies and bounces">
          {related.map(({ entry_id: id, relation, to }) => (
            <li key={id}>
              <span className="rp-mail-method">
                <StatusBadge tone={relation === "bounce" ? "warning" : "info"}>
                  {relation === "bounce" ? "Bounce" : "Reply"}
                </StatusBadge>
              </span>
              <Anchor fz="sm" renderRoot={(props) => <Link to={`/mail/log/${id}`} {...props} />}>
                to {to}
              </Anchor>
            </li>
          ))}
        </ul>
      </Paper>
    </Section>
  );
}

/** All steps in chronological order. */
export function Timeline({ message: { events } }: { message: Message }) {
  return (
    <Section title="Timeline">
      {events.length === 0 ? (
        <EmptyState icon="clock" title="No steps recorded" />
      ) : (
        <ol className="rp-mail-timeline" aria-label="Timeline">
          {events.map(({ datetime, step, detail }, index) => (
            <li key={index}>
              <b className="rp-mail-step">{step}</b>{" "}
              <time className="rp-dimmed" dateTime={datetime}>
                {formatTime(datetime)}
              </time>
              <div className="rp-mono rp-dimmed">
                {Object.entries(detail)
                  .map(([name, value]) => `${name}: ${textOf(value)}`)
                  .join(" · ")}
              </div>
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : Array.isArray(value) && value.every((item) => typeof item === "string")
      ? value.join(", ")
      : JSON.stringify(value);

const PREFIXES = { client: "C: ", server: "S: ", connection: "* " };

export function Transcript({ message: { transcript } }: { message: Message }) {
  return (
    <CodeView
      label="SMTP transcript"
      maxHeight="40rem"
      wrap
      text={transcript.map(({ by, text }) => `${PREFIXES[by]}${text}`).join("\n")}
    />
  );
}

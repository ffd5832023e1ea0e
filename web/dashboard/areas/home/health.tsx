import { Anchor, Paper, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { EmptyState } from "../../shared/empty-state.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import type { Health } from "./queries.ts";

type Status = Health["status"];
type Item = Health["attention"][number];

const TONES: Record<Status, Tone> = { ok: "good", warning: "warning", error: "bad" };
const STATUS_LABELS: Record<Status, string> = { ok: "Healthy", warning: "Warning", error: "Problem" };
const SUMMARIES: Record<Status, string> = {
  ok: "Healthy",
  warning: "Needs attention",
  error: "Problems found",
};

/** Overall health, for the page header. */
export function HealthBadge({ status }: { status: Status }) {
  return <StatusBadge tone={TONES[status]}>{SUMMARIES[status]}</StatusBadge>;
}

/** The components of the server. The API lists them only to members of the operator's account. */
export function Components({ components }: { components: Health["components"] }) {
  if (components.length === 0) return null;
  return (
    <Section title="Components">
      <Paper p={0}>
        <ul className="rp-home-list">
          {components.map(({ name, status, reason, fix }) => (
            <li key={`${name} ${reason}`}>
              <StatusBadge tone={TONES[status]}>{STATUS_LABELS[status]}</StatusBadge>
              <div>
                <h3>{name}</h3>
                <Text fz="sm" c="dimmed">
                  {reason}
                </Text>
                {fix !== null && <Text fz="sm">{fix}</Text>}
              </div>
            </li>
          ))}
        </ul>
      </Paper>
    </Section>
  );
}

/** The page that shows an item. */
const PAGES: Record<Item["kind"], { path: (item: Item) => string; label: string }> = {
  "destination-address": { path: () => "/mail/addresses", label: "Open destination addresses" },
  "routing-dns": { path: ({ zone_id: zone }) => `/dns/${zone}`, label: "Open the zone" },
  "queue-paused": { path: () => "/mail/queue", label: "Open mail queue" },
  "queue-delayed": { path: () => "/mail/queue", label: "Open mail queue" },
  "video-failed": { path: () => "/stream", label: "Open videos" },
};

/** Components that are not healthy, and items of the account. */
export function NeedsAttention({ health: { components, attention } }: { health: Health }) {
  const unhealthy = components.filter(({ status }) => status !== "ok");
  return (
    <Section title="Needs attention">
      {unhealthy.length + attention.length === 0 ? (
        <EmptyState icon="check" title="Nothing needs attention" />
      ) : (
        <Paper p={0}>
          <ul className="rp-home-list">
            {unhealthy.map(({ name, status, reason, fix }) => (
              <Finding key={`${name} ${reason}`} status={status} text={`${name}: ${reason}`} fix={fix} />
            ))}
            {attention.map((item) => (
              <Finding key={`${item.kind} ${item.id}`} status={item.status} text={item.text} fix={item.fix}>
                <Anchor renderRoot={(props) => <Link to={PAGES[item.kind].path(item)} {...props} />} fz="sm">
                  {PAGES[item.kind].label}
                </Anchor>
              </Finding>
            ))}
          </ul>
        </Paper>
      )}
    </Section>
  );
}

interface FindingProps {
  status: Status;
  text: string;
  fix: string | null;
  children?: ReactNode;
}

function Finding({ status, text, fix, children }: FindingProps) {
  return (
    <li>
      <StatusBadge tone={TONES[status]}>{STATUS_LABELS[status]}</StatusBadge>
      <div>
        <Text fz="sm" fw={500}>
          {text}
        </Text>
        {fix !== null && (
          <Text fz="sm" c="dimmed">
            {fix}
          </Text>
        )}
        {children}
      </div>
    </li>
  );
}

import { Button, Paper } from "@mantine/core";
import type { ReactNode } from "react";
import { CopyField } from "../../shared/copy.tsx";
import { Icon } from "../../shared/icon.tsx";
import { saveFile } from "../../shared/save-file.ts";
import { StatusBadge } from "../../shared/status-badge.tsx";
import type { NeededRecord } from "./queries.ts";

interface RecordProblem {
  missing?: NeededRecord | undefined;
  existing?: NeededRecord | undefined;
}

const isSame = (one: NeededRecord, other: NeededRecord | undefined) =>
  other !== undefined && one.type === other.type && one.name === other.name && one.content === other.content;

/** Records to create, with the state of each, and records that must be removed. */
export function NeededRecords({ records, problems }: { records: NeededRecord[]; problems: readonly RecordProblem[] }) {
  const conflicts = problems.flatMap(({ existing }) => existing ?? []);
  return (
    <Paper p={0} role="list" aria-label="Records">
      {records.map((record, index) => {
        const isMissing = problems.some(({ missing }) => isSame(record, missing));
        return (
          <RecordRow key={index} record={record}>
            <StatusBadge tone={isMissing ? "bad" : "good"}>{isMissing ? "Missing" : "Present"}</StatusBadge>
          </RecordRow>
        );
      })}
      {conflicts.map((record, index) => (
        <RecordRow key={`conflict-${index}`} record={record}>
          <StatusBadge tone="warning">Conflicts</StatusBadge>
        </RecordRow>
      ))}
    </Paper>
  );
}

function RecordRow({
  record: { type, name, content, priority },
  children,
}: {
  record: NeededRecord;
  children: ReactNode;
}) {
  return (
    <div className="rp-mail-record" role="listitem">
      <b>{type}</b>
      <CopyField value={name} />
      <CopyField value={priority === undefined ? content : `${priority} ${content}`} />
      {children}
    </div>
  );
}

/** The records as a zone file (RFC 1035 5), for import at another DNS provider. */
export function DownloadZoneFile({ domain, records }: { domain: string; records: readonly NeededRecord[] }) {
  return (
    <Button
      variant="default"
      leftSection={<Icon name="download" size={14} />}
      onClick={() => saveFile(records.map(zoneFileLine).join(""), `${domain}-mail.txt`)}
    >
      Zone file
    </Button>
  );
}

/** A TTL of 1 means "automatic" in the API. */
function zoneFileLine({ type, name, content, priority, ttl }: NeededRecord): string {
  const data = type === "MX" ? `${priority ?? 10} ${content.replace(/\.?$/, ".")}` : quoted(content);
  return `${name.replace(/\.?$/, ".")}\t${ttl > 1 ? ttl : 300}\tIN\t${type}\t${data}\n`;
}

/** Strings of a TXT record have at most 255 bytes (RFC 1035 3.3). */
function quoted(content: string): string {
  if (content.startsWith('"')) return content;
  return (content.match(/[^]{1,255}/g) ?? [""]).map((part) => `"${part.replaceAll(/["\\]/g, "\\$&")}"`).join(" ");
}

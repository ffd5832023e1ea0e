import { Button, Paper } from "@mantine/core";
import type { ReactNode } from "react";
import { CopyField } from "../../shared/copy.tsx";
import { Icon } from "../../shared/icon.tsx";
import { saveFile } from "../../shared/save-file.ts";
import { StatusBadge } from "../../shared/status-badge.tsx";
import type { RequiredRecord } from "./queries.ts";

interface RecordProblem {
  missing?: RequiredRecord | undefined;
  existing?: RequiredRecord | undefined;
}

const isSame = (record: RequiredRecord, other: RequiredRecord | undefined) =>
  other !== undefined && record.type === other.type && record.name === other.name && record.content === other.content;

/** Records to create, with the status of each, and records that must be deleted. */
export function RequiredRecords({
  records,
  problems,
}: {
  records: RequiredRecord[];
  problems: readonly RecordProblem[];
}) {
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
          <StatusBadge tone="warning">Delete: conflicts</StatusBadge>
        </RecordRow>
      ))}
    </Paper>
  );
}

function RecordRow({
  record: { type, name, content, priority },
  children,
}: {
  record: RequiredRecord;
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
export function DownloadZoneFile({ domain, records }: { domain: string; records: readonly RequiredRecord[] }) {
  return (
    <Button
      variant="default"
      leftSection={<Icon name="download" size={14} />}
      onClick={() => saveFile(records.map(zoneFileLine).join(""), `${domain}-mail.txt`)}
    >
      Download zone file
    </Button>
  );
}

/** A TTL of 1 means "automatic" in the API. */
function zoneFileLine({ type, name, content, priority, ttl }: RequiredRecord): string {
  const data = type === "MX" ? `${priority ?? 10} ${content.replace(/\.?$/, ".")}` : quoted(content);
  return `${name.replace(/\.?$/, ".")}\t${ttl > 1 ? ttl : 300}\tIN\t${type}\t${data}\n`;
}

/** Strings of a TXT record have at most 255 bytes (RFC 1035 3.3). */
function quoted(content: string): string {
  if (content.startsWith('"')) return content;
  return (content.match(/[^]{1,255}/g) ?? [""]).map((part) => `"${part.replaceAll(/["\\]/g, "\\$&")}"`).join(" ");
}

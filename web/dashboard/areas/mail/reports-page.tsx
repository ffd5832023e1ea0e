import { Select, Stack } from "@mantine/core";
import { usePageState } from "../../shared/use-list.ts";
import { DmarcReports } from "./dmarc-reports.tsx";
import { DomainFrame } from "./domain-frame.tsx";
import { periodOf } from "./report-period.ts";
import { TlsReports } from "./tls-reports.tsx";

const PERIODS = [
  { value: "7", label: "Last 7 days" },
  { value: "30", label: "Last 30 days" },
  { value: "90", label: "Last 90 days" },
  { value: "365", label: "Last year" },
];

/** Reports that other mail servers sent about the domain. */
export default function ReportsPage() {
  const [{ days }, change] = usePageState({ days: 30 });
  const period = periodOf(days, Date.now());
  return (
    <DomainFrame
      tab="reports"
      actions={
        <Select
          aria-label="Period"
          size="xs"
          w={148}
          data={PERIODS}
          value={String(days)}
          onChange={(value) => change({ days: Number(value ?? 30) })}
        />
      }
    >
      {(zone, zoneId) => (
        <Stack gap="lg">
          <DmarcReports zone={zone} zoneId={zoneId} period={period} />
          <TlsReports zone={zone} zoneId={zoneId} period={period} />
        </Stack>
      )}
    </DomainFrame>
  );
}

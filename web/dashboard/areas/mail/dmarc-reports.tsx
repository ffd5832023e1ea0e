import { Alert, Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, type ResultOf } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { Chart } from "../../shared/chart.tsx";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatNumber } from "../../shared/format.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Section } from "../../shared/page.tsx";
import { useAction } from "../../shared/use-action.ts";
import { mailKeys, type RoutingZone } from "./queries.ts";
import { perDay, type ReportPeriod } from "./report-period.ts";
import { countColumn, Figures, reporterColumn, ReportTable, share } from "./report-sections.tsx";

type Status = ResultOf<"GET", "/zones/{zone_id}/email/auth/dmarc-reports">;
type Statistics = ResultOf<"GET", "/zones/{zone_id}/email/auth/dmarc-reports/statistics">;
type Counts = Statistics["totals"];

/** The problem of the DMARC record, and its fix. */
const PROBLEMS: Record<NonNullable<Status["status"]>, (domain: string) => string> = {
  "missing-dmarc-report": (domain) => `_dmarc.${domain} has no DMARC record. Add one, then enable the reports.`,
  "multiple-dmarc-reports": (domain) =>
    `_dmarc.${domain} has more than one DMARC record, so receivers ignore all of them. Delete all but one.`,
  "missing-dmarc-rua": (domain) =>
    `The record at _dmarc.${domain} does not contain the report address. Enable the reports to add it.`,
  "cname-on-dmarc-record": (domain) =>
    `_dmarc.${domain} is a CNAME of a name without a DMARC record. Add the record there, or delete the CNAME.`,
};

interface ReportsProps {
  zone: RoutingZone;
  zoneId: string;
  period: ReportPeriod;
}

/** Aggregate reports (RFC 7489): who sends mail with the domain in From, and whether it passes. */
export function DmarcReports({ zone, zoneId, period }: ReportsProps) {
  const path = { zone_id: zoneId };
  const statusKey = [...mailKeys.domain(zoneId), "dmarc"] as const;
  const status = useQuery({
    queryKey: statusKey,
    queryFn: () => api.get("/zones/{zone_id}/email/auth/dmarc-reports", { path }),
  });
  const statistics = useQuery({
    queryKey: [...mailKeys.domain(zoneId), "dmarc", "statistics", period],
    queryFn: () => api.get("/zones/{zone_id}/email/auth/dmarc-reports/statistics", { path, query: period }),
  });
  const setEnabled = (enabled: boolean) =>
    api.patch("/zones/{zone_id}/email/auth/dmarc-reports", { path, body: { enabled } });
  const enable = useAction(() => setEnabled(true), {
    done: "DMARC reports enabled",
    failed: "Could not enable DMARC reports",
    invalidates: [statusKey],
  });
  const isEnabled = status.data?.enabled === true;
  const problem = status.data?.status;
  return (
    <Section
      title="DMARC reports"
      description={`Receivers report daily who sends mail with ${zone.name} in the From header, and whether it passes DMARC.`}
      actions={
        status.data !== undefined && (
          <>
            {isEnabled && (
              <ConfirmButton
                action="Disable DMARC reports"
                onConfirm={async () => {
                  await setEnabled(false);
                  await queryClient.invalidateQueries({ queryKey: statusKey });
                }}
              >
                The address for reports is removed from the DMARC record. Statistics are kept.
              </ConfirmButton>
            )}
            {(!isEnabled || problem === "missing-dmarc-rua") && (
              <Button loading={enable.isPending} onClick={() => enable.mutate()}>
                {isEnabled ? "Add the address for reports" : "Enable DMARC reports"}
              </Button>
            )}
          </>
        )
      }
    >
      <Stack gap="md">
        {status.error !== null && <ErrorState error={status.error} onRetry={() => void status.refetch()} />}
        {isEnabled && problem !== undefined && (
          <Alert color="yellow" variant="light" className="rp-alert" data-tone="warning">
            {PROBLEMS[problem](zone.name)}
          </Alert>
        )}
        {statistics.error !== null && <ErrorState error={statistics.error} onRetry={() => void statistics.refetch()} />}
        {statistics.data === undefined
          ? statistics.error === null && <LoadingState rows={4} />
          : status.data !== undefined && (
              <StatisticsView statistics={statistics.data} period={period} isEnabled={isEnabled} />
            )}
      </Stack>
    </Section>
  );
}

function StatisticsView({
  statistics: { reports, totals, days, domains, sources, reporters },
  period,
  isEnabled,
}: {
  statistics: Statistics;
  period: ReportPeriod;
  isEnabled: boolean;
}) {
  const chart = useMemo(() => {
    const { times, valuesOf } = perDay(period, days);
    return {
      times,
      series: [
        { label: "Passed", values: valuesOf(({ passed }) => passed), color: "--rp-good", format: formatNumber },
        {
          label: "Failed",
          values: valuesOf(({ messages, passed }) => messages - passed),
          color: "--rp-bad",
          format: formatNumber,
        },
      ],
    };
  }, [period.since, period.until, days]);
  if (reports === 0)
    return (
      <EmptyState icon="mail" title="No DMARC reports in this period">
        {isEnabled
          ? "Receivers send a report for each day on which they received mail from the domain."
          : "Enable the reports to add the report address to the DMARC record."}
      </EmptyState>
    );
  return (
    <>
      <Figures
        items={[
          ["Reports", formatNumber(reports)],
          ["Messages", formatNumber(totals.messages)],
          ["Passed DMARC", share(totals.passed, totals.messages)],
          ["Quarantined", formatNumber(totals.quarantined)],
          ["Rejected", formatNumber(totals.rejected)],
        ]}
      />
      <Chart label="Messages per day" times={chart.times} series={chart.series} />
      <ReportTable
        title="Domains in From"
        rows={domains}
        rowKey={({ domain }) => domain}
        columns={[
          { id: "domain", header: "Domain", render: ({ domain }) => <b>{domain}</b> },
          ...countColumns<Counts>(),
        ]}
      />
      <ReportTable
        title="Sending servers"
        rows={sources}
        rowKey={({ source_ip: ip }) => ip}
        columns={[
          { id: "ip", header: "IP address", render: ({ source_ip: ip }) => <span className="rp-mono">{ip}</span> },
          ...countColumns<Counts>(),
        ]}
      />
      <ReportTable
        title="Reporters"
        rows={reporters}
        rowKey={({ org_name: name, sender }) => `${name} ${sender}`}
        columns={[reporterColumn<Statistics["reporters"][number]>("Reporter"), ...countColumns<Counts>()]}
      />
    </>
  );
}

const countColumns = <Row extends Counts>() => [
  countColumn<Row>("messages", "Messages", ({ messages }) => messages),
  {
    id: "passed",
    header: "Passed",
    width: 90,
    align: "end" as const,
    render: ({ passed, messages }: Row) => share(passed, messages),
  },
  countColumn<Row>("dkim", "DKIM aligned", (row) => row.dkim_aligned, true),
  countColumn<Row>("spf", "SPF aligned", (row) => row.spf_aligned, true),
  countColumn<Row>("quarantined", "Quarantined", ({ quarantined }) => quarantined, true),
  countColumn<Row>("rejected", "Rejected", ({ rejected }) => rejected, true),
];

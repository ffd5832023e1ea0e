import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, type ResultOf } from "../../api/client.ts";
import { Chart } from "../../shared/chart.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatNumber } from "../../shared/format.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Section } from "../../shared/page.tsx";
import { mailKeys, type RoutingZone } from "./queries.ts";
import { perDay, type ReportPeriod } from "./report-period.ts";
import { countColumn, Figures, reporterColumn, ReportTable, share } from "./report-sections.tsx";

type Statistics = ResultOf<"GET", "/zones/{zone_id}/email/auth/tls-reports/statistics">;
type Sessions = Statistics["totals"];

/** Policy types of RFC 8460 4.4. */
const POLICIES: Record<string, string> = {
  sts: "MTA-STS",
  tlsa: "DANE",
  "no-policy-found": "No policy",
};

/** TLS reports (RFC 8460): whether senders encrypt mail to the domain as its policies require. */
export function TlsReports({ zone, zoneId, period }: { zone: RoutingZone; zoneId: string; period: ReportPeriod }) {
  const { data, error, refetch } = useQuery({
    queryKey: [...mailKeys.domain(zoneId), "tls", period],
    queryFn: () =>
      api.get("/zones/{zone_id}/email/auth/tls-reports/statistics", { path: { zone_id: zoneId }, query: period }),
  });
  return (
    <Section
      title="TLS reports"
      description={`Senders report daily whether their connections to the mail servers of ${zone.name} were encrypted as its policies require.`}
    >
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        error === null && <LoadingState rows={3} />
      ) : (
        <Stack gap="md">
          <StatisticsView domain={zone.name} statistics={data} period={period} />
        </Stack>
      )}
    </Section>
  );
}

function StatisticsView({
  domain,
  statistics: { reports, totals, days, policies, failures, reporters },
  period,
}: {
  domain: string;
  statistics: Statistics;
  period: ReportPeriod;
}) {
  const chart = useMemo(() => {
    const { times, valuesOf } = perDay(period, days);
    return {
      times,
      series: [
        {
          label: "Successful",
          values: valuesOf(({ successful }) => successful),
          color: "--rp-good",
          format: formatNumber,
        },
        { label: "Failed", values: valuesOf(({ failed }) => failed), color: "--rp-bad", format: formatNumber },
      ],
    };
  }, [period.since, period.until, days]);
  if (reports === 0)
    return (
      <EmptyState icon="lock" title="No TLS reports in this period">
        Senders report to the address in the TXT record _smtp._tls.{domain}, which the server publishes together with an
        MTA-STS policy.
      </EmptyState>
    );
  return (
    <>
      <Figures
        items={[
          ["Reports", formatNumber(reports)],
          ["Sessions", formatNumber(totals.successful + totals.failed)],
          ["Successful", share(totals.successful, totals.successful + totals.failed)],
          ["Failed", formatNumber(totals.failed)],
        ]}
      />
      <Chart label="Sessions per day" times={chart.times} series={chart.series} />
      <ReportTable
        title="Failures"
        rows={failures}
        rowKey={({ result_type: type, receiving_mx: mx }) => `${type} ${mx}`}
        columns={[
          { id: "type", header: "Result", render: ({ result_type: type }) => <span className="rp-mono">{type}</span> },
          { id: "mx", header: "Mail server", render: ({ receiving_mx: mx }) => mx || "Unknown" },
          countColumn<Statistics["failures"][number]>("sessions", "Sessions", ({ sessions }) => sessions),
        ]}
      />
      <ReportTable
        title="Policies"
        rows={policies}
        rowKey={({ domain, policy_type: type }) => `${domain} ${type}`}
        columns={[
          { id: "domain", header: "Domain", render: ({ domain }) => <b>{domain}</b> },
          { id: "policy", header: "Policy", render: ({ policy_type: type }) => POLICIES[type] ?? type },
          ...sessionColumns<Sessions>(),
        ]}
      />
      <ReportTable
        title="Senders of reports"
        rows={reporters}
        rowKey={({ org_name: name, sender }) => `${name} ${sender}`}
        columns={[reporterColumn<Statistics["reporters"][number]>("Sender"), ...sessionColumns<Sessions>()]}
      />
    </>
  );
}

const sessionColumns = <Row extends Sessions>() => [
  countColumn<Row>("successful", "Successful", ({ successful }) => successful),
  countColumn<Row>("failed", "Failed", ({ failed }) => failed),
];

import { Anchor, Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ActionMenu, ConfirmModal } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { DeployForm, useDeploy } from "./deploy-form.tsx";
import { deploymentsQuery, messageOf, shortId, versionsQuery, type Deployment, type Version } from "./queries.ts";
import { WorkerFrame } from "./worker-frame.tsx";
import type { ScriptPath } from "./queries.ts";

export default function DeploymentsPage() {
  return <WorkerFrame tab="deployments">{(path) => <Deployments path={path} />}</WorkerFrame>;
}

function Deployments({ path }: { path: ScriptPath }) {
  const versions = useQuery(versionsQuery(path));
  const deployments = useQuery(deploymentsQuery(path));
  const [isDeploying, setDeploying] = useState(false);
  const [target, setTarget] = useState<Version>();
  const deploy = useDeploy(path);
  const notify = useNotify();
  const activeDeployment = deployments.data?.[0];
  const shares = new Map(activeDeployment?.versions.map((version) => [version.version_id, version.percentage]));
  const numberOf = (id: string) => versions.data?.find((version) => version.id === id)?.number;

  return (
    <Stack gap="lg">
      <Section
        title="Versions"
        description="Each upload and each change of a binding or secret creates a version."
        actions={
          <Button onClick={() => setDeploying(true)} disabled={(versions.data?.length ?? 0) === 0}>
            Deploy versions
          </Button>
        }
      >
        <DataTable
          label="Versions"
          columns={versionColumns(path, shares, setTarget)}
          list={{ items: versions.data ?? [], isLoading: versions.isPending, error: versions.error }}
          rowKey={({ id }) => id}
          empty={<EmptyState icon="code" title="No versions yet" />}
        />
      </Section>
      <Section title="Deployments" description="The newest deployment receives the requests.">
        <DataTable
          label="Deployments"
          columns={deploymentColumns(numberOf)}
          list={{ items: deployments.data ?? [], isLoading: deployments.isPending, error: deployments.error }}
          rowKey={({ id }) => id}
          empty={<EmptyState icon="upload" title="Nothing is deployed" />}
        />
      </Section>
      {isDeploying && versions.data !== undefined && (
        <DeployForm
          path={path}
          versions={versions.data}
          activeDeployment={activeDeployment}
          onClose={() => setDeploying(false)}
        />
      )}
      {target !== undefined && (
        <ConfirmModal
          action="Roll back"
          danger={false}
          opened
          onClose={() => setTarget(undefined)}
          onConfirm={async () => {
            await deploy([{ version_id: target.id, percentage: 100 }], `Rollback to version ${target.number}`);
            notify.success(`Version ${target.number} deployed`);
          }}
        >
          Version {target.number} ({shortId(target.id)}) will receive all requests, with the code, bindings and secrets
          it had at that time.
        </ConfirmModal>
      )}
    </Stack>
  );
}

function versionColumns(
  path: ScriptPath,
  shares: ReadonlyMap<string, number>,
  onRollback: (version: Version) => void,
): readonly Column<Version>[] {
  const codeUrl = `/workers/${path.script_name}/code`;
  return [
    {
      id: "number",
      header: "Version",
      width: 190,
      render: ({ id, number }) => (
        <Anchor renderRoot={(props) => <Link to={codeUrl} search={{ version: id } as never} {...props} />} fz="sm">
          {number} <span className="rp-mono">{shortId(id)}</span>
        </Anchor>
      ),
    },
    {
      id: "traffic",
      header: "Traffic",
      width: 110,
      render: ({ id }) =>
        shares.has(id) ? (
          <StatusBadge tone="good">{shares.get(id)}%</StatusBadge>
        ) : (
          <span className="rp-dimmed">–</span>
        ),
    },
    {
      id: "message",
      header: "Message",
      wideOnly: true,
      render: ({ annotations }) => messageOf(annotations) || <span className="rp-dimmed">–</span>,
    },
    {
      id: "author",
      header: "Author",
      wideOnly: true,
      render: ({ metadata }) => metadata.author_email || metadata.source,
    },
    {
      id: "created",
      header: "Created",
      width: 140,
      render: ({ metadata }) => <RelativeTime value={metadata.created_on} />,
    },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (version) => <VersionActions version={version} codeUrl={codeUrl} {...{ shares, onRollback }} />,
    },
  ];
}

function VersionActions({
  version,
  codeUrl,
  shares,
  onRollback,
}: {
  version: Version;
  codeUrl: string;
  shares: ReadonlyMap<string, number>;
  onRollback: (version: Version) => void;
}) {
  const navigate = useNavigate();
  const [deployed] = shares.keys();
  return (
    <ActionMenu
      label={`Actions for version ${version.number}`}
      items={[
        {
          label: "Compare with the deployed version",
          icon: "code",
          disabled: deployed === undefined || shares.has(version.id),
          onClick: () => void navigate({ to: codeUrl, search: { version: version.id, compare: deployed } as never }),
        },
        {
          label: "Roll back to this version",
          icon: "refresh",
          disabled: shares.get(version.id) === 100,
          onClick: () => onRollback(version),
        },
      ]}
    />
  );
}

const deploymentColumns = (numberOf: (id: string) => number | undefined): readonly Column<Deployment>[] => [
  {
    id: "versions",
    header: "Versions",
    render: ({ versions }) =>
      versions.map((version) => (
        <div key={version.version_id}>
          {numberOf(version.version_id) ?? ""} <span className="rp-mono">{shortId(version.version_id)}</span>{" "}
          {version.percentage}%
        </div>
      )),
  },
  {
    id: "message",
    header: "Message",
    wideOnly: true,
    render: ({ annotations }) => messageOf(annotations) || <span className="rp-dimmed">–</span>,
  },
  {
    id: "author",
    header: "Author",
    wideOnly: true,
    render: (deployment) => deployment.author_email || deployment.source,
  },
  {
    id: "created",
    header: "Deployed",
    width: 140,
    render: (deployment) => <RelativeTime value={deployment.created_on} />,
  },
];

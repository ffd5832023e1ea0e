import { Anchor, Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { Page } from "../../shared/page.tsx";
import { SearchField } from "../../shared/search-field.tsx";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { DomainStatus } from "./domain-status.tsx";
import { mailKeys, type RoutingZone } from "./queries.ts";

const hrefOf = ({ id }: RoutingZone) => `/mail/domains/${id}`;

const COLUMNS: readonly Column<RoutingZone>[] = [
  {
    id: "name",
    header: "Domain",
    render: (zone) => (
      <Anchor renderRoot={(props) => <Link to={hrefOf(zone)} {...props} />} fw={500} fz="sm">
        {zone.name}
      </Anchor>
    ),
  },
  { id: "routing", header: "Email Routing", width: 190, render: (zone) => <DomainStatus zone={zone} /> },
  {
    id: "rules",
    header: "Rules",
    width: 160,
    render: ({ id }) => (
      <Anchor fz="sm" renderRoot={(props) => <Link to={`/mail/domains/${id}/rules`} {...props} />}>
        Routing rules
      </Anchor>
    ),
  },
  {
    id: "sending",
    header: "Sending",
    width: 160,
    wideOnly: true,
    render: ({ id }) => (
      <Anchor fz="sm" renderRoot={(props) => <Link to={`/mail/domains/${id}/sending`} {...props} />}>
        Sending domains
      </Anchor>
    ),
  },
];

export default function DomainsPage() {
  const account = useAccount();
  const [{ page, search }, change] = usePageState({ page: 1, search: "" });
  const list = usePagedList<RoutingZone>(
    [...mailKeys.domains, "list", account.id, search],
    page,
    (request) =>
      api.list("/accounts/{account_id}/email/routing/zones", {
        path: { account_id: account.id },
        query: {
          ...request,
          ...(search !== "" && { name: `contains:${search}` }),
        },
      }),
    { perPage: 25 },
  );
  useLiveEvents(["zones", "routing"], [mailKeys.domains]);
  return (
    <Page
      title="Mail domains"
      description="Domains for which this server receives and sends mail."
      actions={
        <Button variant="default" component={Link} to="/dns">
          Manage zones
        </Button>
      }
    >
      <div className="rp-toolbar">
        <SearchField label="Search domains" value={search} onChange={(value) => change({ search: value, page: 1 })} />
      </div>
      <DataTable
        label="Mail domains"
        columns={COLUMNS}
        list={list}
        rowKey={({ id }) => id}
        rowHref={hrefOf}
        onPage={(next) => change({ page: next })}
        empty={
          search === "" ? (
            <EmptyState
              icon="globe"
              title="No domains yet"
              actions={
                <Button component={Link} to="/dns">
                  Create zone
                </Button>
              }
            >
              Create a zone for the domain first, then set up its mail here.
            </EmptyState>
          ) : (
            <EmptyState icon="search" title={`No domains match “${search}”`} />
          )
        }
      />
    </Page>
  );
}

import { Anchor, Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { appInfo, isDev } from "../../api/app-info.ts";
import { CopyField } from "../../shared/copy.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { SearchField } from "../../shared/search-field.tsx";
import { usePageState } from "../../shared/use-list.ts";
import { groupsOf, operationsQuery, type Operation } from "./document.ts";
import { MethodName, OperationView } from "./operation-view.tsx";

/** Height above the selected operation in the list. */
const CONTEXT_PIXELS = 120;

/** All operations of the API of this server, and a form for each. */
export default function ReferencePage() {
  const { operationId } = useParams({ strict: false });
  const { data: operations, error, refetch } = useQuery(operationsQuery);
  const [{ filter }, change] = usePageState({ filter: "" });
  const operation = operations?.find(({ id }) => id === operationId);
  return (
    <Page
      title="API reference"
      description="Every API operation of this server, with a form for sending a request."
      actions={
        <Button variant="default" component="a" href="/docs/api" target="_blank" rel="noreferrer">
          Read the guide
        </Button>
      }
    >
      {error !== null ? (
        <ErrorState error={error} title="The API description failed to load" onRetry={() => void refetch()} />
      ) : operations === undefined ? (
        <LoadingState />
      ) : (
        <div className="rp-reference" data-selected={operation !== undefined}>
          <div className="rp-reference-list">
            <SearchField
              label={`Filter ${operations.length} operations`}
              value={filter}
              onChange={(text) => change({ filter: text })}
              width="100%"
            />
            <Groups operations={operations} filter={filter} selected={operation} />
          </div>
          {operation !== undefined ? (
            <OperationView operation={operation} />
          ) : operationId !== undefined ? (
            <EmptyState title="This server has no such operation" icon="code" />
          ) : (
            <Introduction />
          )}
        </div>
      )}
    </Page>
  );
}

function Groups({
  operations,
  filter,
  selected,
}: {
  operations: readonly Operation[];
  filter: string;
  selected: Operation | undefined;
}) {
  const groups = groupsOf(operations, filter);
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const link = list.current?.querySelector<HTMLElement>("[aria-current]");
    // scrollIntoView() would also scroll the page.
    if (list.current && link) list.current.scrollTop = link.offsetTop - list.current.offsetTop - CONTEXT_PIXELS;
  }, [selected]);
  if (groups.length === 0)
    return (
      <Text fz="sm" c="dimmed" p="xs">
        No operation matches.
      </Text>
    );
  return (
    <nav aria-label="Operations" ref={list}>
      {groups.map(([tag, group]) => (
        <details key={tag} open={filter !== "" || selected?.tag === tag || undefined}>
          <summary>{tag}</summary>
          <ul>
            {group.map((one) => (
              <li key={one.id}>
                <Link
                  to="/reference/$operationId"
                  params={{ operationId: one.id } as never}
                  search
                  aria-current={one === selected ? "page" : undefined}
                  preload={false}
                >
                  <MethodName method={one.method} />
                  <span>{one.summary}</span>
                </Link>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </nav>
  );
}

function Introduction() {
  const base = `${appInfo().urls.api}/client/v4`;
  return (
    <div className="rp-reference-intro">
      <CopyField label="Base URL" value={base} />
      <CopyField label="Authentication" value="Authorization: Bearer <API token>" />
      <CopyField label="OpenAPI document, for tools" value={`${base}/openapi.json`} />
      <Text fz="sm" c="dimmed">
        Select an operation to see its parameters and its result, and to send a request.
        {!isDev() && (
          <>
            {" "}
            Create a token for scripts in{" "}
            <Anchor renderRoot={(props) => <Link to="/settings/tokens" {...props} />}>API tokens</Anchor>.
          </>
        )}
      </Text>
    </div>
  );
}

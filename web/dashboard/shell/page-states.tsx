import { Anchor, Box } from "@mantine/core";
import { Link, useRouter } from "@tanstack/react-router";
import { EmptyState } from "../shared/empty-state.tsx";
import { ErrorState } from "../shared/error-state.tsx";
import { LoadingState } from "../shared/loading-state.tsx";
import { Page } from "../shared/page.tsx";

/** A page that cannot be shown, for example because its data could not be loaded. */
export function PageError({ error }: { error: unknown }) {
  const router = useRouter();
  return (
    <Box p="lg" maw="46rem">
      <ErrorState error={error} onRetry={() => void router.invalidate()} />
    </Box>
  );
}

export function PagePending() {
  return (
    <Box p="lg" maw="46rem">
      <LoadingState rows={6} label="Loading the page" />
    </Box>
  );
}

export function PageNotFound() {
  return (
    <Page title="Page not found">
      <EmptyState
        icon="search"
        title="This page does not exist"
        actions={<Anchor renderRoot={(props) => <Link to="/" {...props} />}>Go to the start page</Anchor>}
      >
        The address may have a typing error, or the thing that it shows was deleted.
      </EmptyState>
    </Page>
  );
}

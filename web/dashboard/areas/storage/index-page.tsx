import { EmptyState } from "../../shared/empty-state.tsx";
import { Page } from "../../shared/page.tsx";

export default function StoragePage() {
  return (
    <Page title="Storage">
      <EmptyState icon="database" title="Not available yet" />
    </Page>
  );
}

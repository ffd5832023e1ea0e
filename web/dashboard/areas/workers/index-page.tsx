import { EmptyState } from "../../shared/empty-state.tsx";
import { Page } from "../../shared/page.tsx";

export default function WorkersPage() {
  return (
    <Page title="Workers">
      <EmptyState icon="code" title="Not available yet" />
    </Page>
  );
}

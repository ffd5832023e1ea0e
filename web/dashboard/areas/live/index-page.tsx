import { EmptyState } from "../../shared/empty-state.tsx";
import { Page } from "../../shared/page.tsx";

export default function LivePage() {
  return (
    <Page title="Live">
      <EmptyState icon="broadcast" title="Not available yet" />
    </Page>
  );
}

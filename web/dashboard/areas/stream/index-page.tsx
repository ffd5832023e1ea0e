import { EmptyState } from "../../shared/empty-state.tsx";
import { Page } from "../../shared/page.tsx";

export default function StreamPage() {
  return (
    <Page title="Stream">
      <EmptyState icon="video" title="Not available yet" />
    </Page>
  );
}

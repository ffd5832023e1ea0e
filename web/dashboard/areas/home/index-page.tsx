import { EmptyState } from "../../shared/empty-state.tsx";
import { Page } from "../../shared/page.tsx";

export default function HomePage() {
  return (
    <Page title="Home">
      <EmptyState icon="home" title="Not available yet" />
    </Page>
  );
}

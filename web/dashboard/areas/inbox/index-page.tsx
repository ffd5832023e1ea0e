import { EmptyState } from "../../shared/empty-state.tsx";
import { Page } from "../../shared/page.tsx";

export default function InboxPage() {
  return (
    <Page title="Inbox">
      <EmptyState icon="inbox" title="Not available yet" />
    </Page>
  );
}

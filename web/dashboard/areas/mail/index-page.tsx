import { EmptyState } from "../../shared/empty-state.tsx";
import { Page } from "../../shared/page.tsx";

export default function MailPage() {
  return (
    <Page title="Mail">
      <EmptyState icon="mail" title="Not available yet" />
    </Page>
  );
}

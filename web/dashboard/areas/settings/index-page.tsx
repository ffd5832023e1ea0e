import { EmptyState } from "../../shared/empty-state.tsx";
import { Page } from "../../shared/page.tsx";

export default function SettingsPage() {
  return (
    <Page title="Settings">
      <EmptyState icon="settings" title="Not available yet" />
    </Page>
  );
}

import { Alert, Button, Group, Paper, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { twoFactorQuery } from "../../../api/account.ts";
import { api, type ResultOf } from "../../../api/client.ts";
import { ErrorState } from "../../../shared/error-state.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { Page, Section } from "../../../shared/page.tsx";
import { useAction } from "../../../shared/use-action.ts";
import { userQuery } from "../queries.ts";
import { Passkeys } from "./passkeys.tsx";
import { Password } from "./password.tsx";
import { Sessions } from "./sessions.tsx";
import { TwoFactor } from "./two-factor.tsx";

type User = ResultOf<"GET", "/user">;

export default function AccountPage() {
  const { data: user, error, refetch } = useQuery(userQuery);
  const { data: twoFactor } = useQuery(twoFactorQuery);
  return (
    <Page title="Your account" {...(user !== undefined && { description: user.email })} width="narrow">
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {error === null && user === undefined && <LoadingState rows={6} label="Loading your account" />}
      {user !== undefined && (
        <Stack gap="lg">
          {twoFactor?.required === true && (
            <Alert color="yellow" variant="light" className="rp-alert" data-tone="warning">
              An account that you are a member of requires two-factor authentication. To open other pages, enable it
              below, or add a passkey and sign in with it.
            </Alert>
          )}
          <Profile user={user} />
          <Password />
          <TwoFactor />
          <Passkeys />
          <Sessions />
        </Stack>
      )}
    </Page>
  );
}

function Profile({ user }: { user: User }) {
  const form = useForm({ initialValues: { first_name: user.first_name ?? "", last_name: user.last_name ?? "" } });
  const save = useAction(
    (values: typeof form.values) =>
      api.patch("/user", { body: { first_name: values.first_name.trim(), last_name: values.last_name.trim() } }),
    { done: "Name saved", failed: "Could not save the name", invalidates: [userQuery.queryKey] },
  );
  return (
    <Section title="Name">
      <Paper>
        <form onSubmit={form.onSubmit((values) => save.mutate(values, { onSuccess: () => form.resetDirty() }))}>
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" verticalSpacing="sm">
            <TextInput label="First name" autoComplete="given-name" {...form.getInputProps("first_name")} />
            <TextInput label="Last name" autoComplete="family-name" {...form.getInputProps("last_name")} />
          </SimpleGrid>
          <Group justify="end" mt="sm">
            <Button type="submit" variant="default" loading={save.isPending} disabled={!form.isDirty()}>
              Save name
            </Button>
          </Group>
        </form>
      </Paper>
    </Section>
  );
}

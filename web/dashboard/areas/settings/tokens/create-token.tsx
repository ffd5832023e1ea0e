import { Select, SimpleGrid, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { ErrorState } from "../../../shared/error-state.tsx";
import { FormModal } from "../../../shared/form-modal.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { settingsKeys, userQuery } from "../queries.ts";
import { PermissionPicker } from "./permission-picker.tsx";
import { areasOf, policiesOf } from "./permissions.ts";
import { createToken, listPermissionGroups, type TokenOwner } from "./token-api.ts";

const DAY_MS = 86_400_000;
const LIFETIMES = [
  { value: "", label: "Never" },
  { value: "1", label: "In a day" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

interface CreateTokenProps {
  owner: TokenOwner;
  opened: boolean;
  onClose: () => void;
  onCreated: (token: { name: string; value: string }) => void;
}

export function CreateToken({ owner, opened, onClose, onCreated }: CreateTokenProps) {
  const client = useQueryClient();
  const { data: user } = useQuery(userQuery);
  const { data: groups, error } = useQuery({
    queryKey: ["settings", "permission-groups", owner.kind, owner.account],
    queryFn: () => listPermissionGroups(owner),
    staleTime: Infinity,
    enabled: opened,
  });
  const areas = useMemo(() => areasOf(groups ?? [], owner.kind), [groups, owner.kind]);
  const form = useForm({
    initialValues: { name: "", days: "", networks: [] as string[], permissions: new Set<string>() },
    validate: {
      name: (name) => (name.trim() === "" ? "Enter a name" : null),
      permissions: (selected) => (selected.size === 0 ? "Select at least one permission" : null),
    },
  });
  const { values } = form;

  async function create() {
    const token = await createToken(owner, {
      name: values.name.trim(),
      policies: policiesOf(values.permissions, groups ?? [], { account: owner.account, user: user?.id ?? "*" }),
      ...(values.days !== "" && {
        expires_on: new Date(Date.now() + Number(values.days) * DAY_MS).toISOString(),
      }),
      ...(values.networks.length > 0 && { condition: { request_ip: { in: values.networks } } }),
    });
    form.reset();
    await client.invalidateQueries({ queryKey: settingsKeys.tokens });
    onCreated({ name: token.name, value: token.value });
  }

  return (
    <FormModal
      title="Create token"
      size="lg"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && create()}
    >
      <TextInput
        label="Name"
        description="What the token is for."
        maxLength={120}
        data-autofocus
        autoComplete="off"
        {...form.getInputProps("name")}
      />
      {error !== null && <ErrorState error={error} />}
      {groups === undefined && error === null && <LoadingState rows={5} label="Loading permissions" />}
      {groups !== undefined && (
        <PermissionPicker
          areas={areas}
          selected={values.permissions}
          onChange={(permissions) => form.setFieldValue("permissions", permissions)}
        />
      )}
      {form.errors["permissions"] !== undefined && (
        <div role="alert" className="rp-settings-error">
          {form.errors["permissions"]}
        </div>
      )}
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" verticalSpacing="sm">
        <Select label="Expires" data={LIFETIMES} {...form.getInputProps("days")} />
        <TagsInput
          label="Allowed client IPs"
          placeholder={values.networks.length === 0 ? "Any IP address" : ""}
          description="IP addresses or CIDR ranges."
          inputWrapperOrder={["label", "input", "description", "error"]}
          splitChars={[",", " "]}
          {...form.getInputProps("networks")}
        />
      </SimpleGrid>
    </FormModal>
  );
}

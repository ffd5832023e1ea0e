import { MultiSelect, Select } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { addressesQuery, emailWorkersQuery, type Rule } from "./queries.ts";

export interface ActionValues {
  action: "forward" | "worker" | "drop";
  targets: string[];
}

const ACTIONS = [
  { value: "worker", label: "Pass to a worker" },
  { value: "forward", label: "Forward to addresses" },
  { value: "drop", label: "Drop" },
];

export const valuesOfAction = (action: Rule["actions"][number] | undefined): ActionValues => ({
  action: action?.type ?? "worker",
  targets: action?.value ?? [],
});

export const actionOf = ({ action, targets }: ActionValues): { type: string; value?: string[] } =>
  action === "drop" ? { type: action } : { type: action, value: targets };

export function missingTarget({ action, targets }: ActionValues): string | null {
  if (action === "drop" || targets.length > 0) return null;
  return action === "worker" ? "Select a worker" : "Select a destination address";
}

/** The fields of a rule's action. */
export function ActionFields({ form }: { form: UseFormReturnType<ActionValues> }) {
  const account = useAccount();
  const { data: workers = [] } = useQuery(emailWorkersQuery(account.id));
  const { data: addresses = [] } = useQuery(addressesQuery(account.id));
  const { action, targets } = form.values;
  return (
    <>
      <Select
        label="Action"
        data={ACTIONS}
        allowDeselect={false}
        value={action}
        onChange={(value) => form.setValues({ action: value as ActionValues["action"], targets: [] })}
      />
      {action === "worker" && (
        <Select
          label="Worker"
          placeholder="Select a worker"
          description="Workers with an email() handler."
          nothingFoundMessage="No workers have an email() handler"
          data={[...new Set([...workers, ...targets])]}
          searchable
          value={targets[0] ?? null}
          error={form.errors["targets"]}
          onChange={(value) => form.setFieldValue("targets", value === null ? [] : [value])}
        />
      )}
      {action === "forward" && (
        <MultiSelect
          label="Destination addresses"
          placeholder="Select an address"
          description="You can select only verified addresses."
          nothingFoundMessage="No verified addresses"
          data={[
            ...new Set([
              ...addresses.filter(({ verified }) => verified !== null).map(({ email }) => email),
              ...targets,
            ]),
          ]}
          searchable
          value={targets}
          error={form.errors["targets"]}
          onChange={(value) => form.setFieldValue("targets", value)}
        />
      )}
    </>
  );
}

import { Radio, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../../api/account.ts";
import { ErrorState } from "../../../shared/error-state.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { rolesQuery } from "../queries.ts";
import { roleName } from "./role-name.ts";

/** A choice between roles, by id. */
export function RoleSelect({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const { data: roles, error } = useQuery(rolesQuery(useAccount().id));
  if (error !== null) return <ErrorState error={error} />;
  if (roles === undefined) return <LoadingState rows={3} />;
  return (
    <Radio.Group label="Role" value={value} onChange={onChange}>
      <Stack gap="xs" mt={4}>
        {roles.map(({ id, name, description }) => (
          <Radio key={id} value={id} label={roleName(name)} description={description} />
        ))}
      </Stack>
    </Radio.Group>
  );
}

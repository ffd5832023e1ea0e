import { Button, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ErrorState } from "../shared/error-state.tsx";
import { formatTime } from "../shared/format.tsx";
import { KeyValue } from "../shared/key-value.tsx";
import { LoadingState } from "../shared/loading-state.tsx";
import { callAuth } from "./auth.ts";
import { SignInFrame } from "./sign-in-frame.tsx";
import type { SignInState } from "./use-sign-in.ts";

/** Shows an invitation to an account and accepts it. */
export function InvitationForm({ signIn, invitation }: { signIn: SignInState; invitation: string }) {
  const [isAccepted, setAccepted] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["sign-in", "invitation", invitation],
    queryFn: () => callAuth("/auth/invitation", { invitation }),
    retry: false,
    staleTime: Infinity,
  });
  const accept = async () => {
    const result = await callAuth("/auth/invitation/accept", { invitation });
    if (!("email" in result)) return result;
    setAccepted(true);
    return undefined;
  };
  if (isAccepted)
    return (
      <SignInFrame title="Invitation accepted">
        <Stack gap="sm">
          <Text fz="sm">You are now a member of {data?.account.name}. Sign in as usual to open it.</Text>
          <Button component="a" href="/sign-in" size="sm" fullWidth>
            Sign in
          </Button>
        </Stack>
      </SignInFrame>
    );
  return (
    <SignInFrame title={data === undefined ? "Invitation" : `Join ${data.account.name}`}>
      <Stack gap="md">
        {error !== null && <ErrorState error={error} title="The invitation cannot be used" />}
        {error === null && data === undefined && <LoadingState rows={3} />}
        {data !== undefined && (
          <>
            <KeyValue
              items={[
                ["Account", data.account.name],
                ["Role", data.role],
                ["For", data.email],
                ["Invited by", data.invited_by],
                ["Valid until", formatTime(data.expires_on)],
              ]}
            />
            {signIn.error !== undefined && <ErrorState error={signIn.error} />}
            <Button
              size="sm"
              fullWidth
              loading={signIn.running === "invitation"}
              onClick={() => void signIn.run("invitation", accept)}
            >
              Accept invitation
            </Button>
          </>
        )}
      </Stack>
    </SignInFrame>
  );
}

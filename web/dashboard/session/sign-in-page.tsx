import { Button, Divider, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { isDev } from "../api/app-info.ts";
import { ErrorState } from "../shared/error-state.tsx";
import { Icon } from "../shared/icon.tsx";
import { LoadingState } from "../shared/loading-state.tsx";
import { callAuth, startOidc, withPasskey, type SignInMethod } from "./auth.ts";
import { CodeForm } from "./code-form.tsx";
import { InvitationForm } from "./invitation-form.tsx";
import { PasswordForm } from "./password-form.tsx";
import { sessionEndReason, sessionSecret } from "./session.ts";
import { SignInFrame } from "./sign-in-frame.tsx";
import { TokenForm } from "./token-form.tsx";
import { useSignIn, type SignInState } from "./use-sign-in.ts";

const TITLE = "Sign in to Reelpost";

/** The secret that a sign-in link or an invitation carries after `#`, which browsers do not send to the server. */
function readFragment(): { link?: string; invite?: string } {
  const values = new URLSearchParams(location.hash.slice(1));
  const [link, invite] = [values.get("link"), values.get("invite")];
  return { ...(link !== null && { link }), ...(invite !== null && { invite }) };
}

export default function SignInPage() {
  const navigate = useNavigate();
  const signIn = useSignIn();
  const [fragment] = useState(readFragment);
  const { data: methods } = useQuery({
    queryKey: ["sign-in", "methods"],
    queryFn: async () => (await callAuth("/auth/methods", {})).methods,
    staleTime: Infinity,
  });

  useEffect(() => {
    if (isDev() || (sessionSecret() !== undefined && location.hash === ""))
      return void navigate({ to: "/", replace: true });
    // The secret leaves the address bar and the history.
    if (location.hash !== "") history.replaceState(history.state, "", location.pathname + location.search);
    const { link } = fragment;
    if (link !== undefined) void signIn.run("link", () => callAuth("/auth/link", { link }));
    return undefined;
    // Runs once, when the page opens.
  }, []);

  if (signIn.ticket !== undefined)
    return (
      <SignInFrame title="Enter your code">
        <CodeForm signIn={signIn} ticket={signIn.ticket} />
      </SignInFrame>
    );
  if (fragment.invite !== undefined) return <InvitationForm signIn={signIn} invitation={fragment.invite} />;
  return (
    <SignInFrame
      title={TITLE}
      {...(sessionEndReason() === "expired" && { note: "Your session has ended. Sign in again to continue." })}
    >
      {signIn.running === "link" ? (
        <LoadingState rows={3} label="Signing in" />
      ) : (
        <Stack gap="md">
          {signIn.error !== undefined && <ErrorState error={signIn.error} title="The sign-in failed" />}
          <Ways signIn={signIn} methods={methods ?? []} />
        </Stack>
      )}
    </SignInFrame>
  );
}

function Ways({ signIn, methods }: { signIn: SignInState; methods: readonly SignInMethod[] }) {
  return (
    <>
      {methods.includes("password") && <PasswordForm signIn={signIn} />}
      {methods.includes("passkey") && (
        <Button
          variant="default"
          size="sm"
          fullWidth
          leftSection={<Icon name="key" size={15} />}
          loading={signIn.running === "passkey"}
          onClick={() => void signIn.run("passkey", withPasskey)}
        >
          Use a passkey
        </Button>
      )}
      {methods.includes("oidc") && (
        <Button
          variant="default"
          size="sm"
          fullWidth
          leftSection={<Icon name="shield" size={15} />}
          loading={signIn.running === "oidc"}
          onClick={() => void signIn.run("oidc", startOidc)}
        >
          Use single sign-on
        </Button>
      )}
      <Divider label="or" />
      <TokenForm signIn={signIn} />
    </>
  );
}

import { Button, Stack } from "@mantine/core";
import { useEffect } from "react";
import { ErrorState } from "../shared/error-state.tsx";
import { LoadingState } from "../shared/loading-state.tsx";
import { finishOidc } from "./auth.ts";
import { SignInFrame } from "./sign-in-frame.tsx";
import { useSignIn } from "./use-sign-in.ts";

/** Where an OpenID Connect provider sends the browser after the sign-in. */
export default function CallbackPage() {
  const signIn = useSignIn();
  useEffect(() => {
    const url = location.href;
    history.replaceState(history.state, "", location.pathname);
    void signIn.run("oidc", () => finishOidc(url));
    // Runs once, because the code in the URL can be used only once.
  }, []);
  return (
    <SignInFrame title="Signing in">
      {signIn.error === undefined ? (
        <LoadingState rows={3} label="Signing in" />
      ) : (
        <Stack gap="sm">
          <ErrorState error={signIn.error} title="The sign-in failed" />
          <Button component="a" href="/sign-in" size="sm" fullWidth>
            Sign in again
          </Button>
        </Stack>
      )}
    </SignInFrame>
  );
}

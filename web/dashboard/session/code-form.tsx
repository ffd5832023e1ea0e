import { Button, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { ErrorState } from "../shared/error-state.tsx";
import { callAuth } from "./auth.ts";
import type { SignInState } from "./use-sign-in.ts";

/** The second step: a code of the authenticator app, or a recovery code. */
export function CodeForm({ signIn, ticket }: { signIn: SignInState; ticket: string }) {
  const [code, setCode] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void signIn.run("code", () => callAuth("/auth/totp", { ticket, code: code.trim() }));
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Code"
          description="Enter the code of your authenticator app, or a recovery code."
          value={code}
          autoComplete="one-time-code"
          inputMode="numeric"
          spellCheck={false}
          required
          withAsterisk={false}
          autoFocus
          onChange={({ currentTarget }) => setCode(currentTarget.value)}
        />
        {signIn.error !== undefined && <ErrorState error={signIn.error} title="The code was not accepted" />}
        <Button type="submit" size="sm" fullWidth loading={signIn.running === "code"} disabled={code.trim() === ""}>
          Sign in
        </Button>
        <Button variant="subtle" size="sm" fullWidth onClick={signIn.restart}>
          Sign in another way
        </Button>
      </Stack>
    </form>
  );
}

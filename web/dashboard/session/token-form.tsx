import { Button, PasswordInput, Stack } from "@mantine/core";
import { useState } from "react";
import { apiUrl, readError } from "../api/client.ts";
import type { SignInState } from "./use-sign-in.ts";

/** An API token serves as the session. Signing out removes it from this browser, but the token stays valid. */
export function TokenForm({ signIn }: { signIn: SignInState }) {
  const [token, setToken] = useState("");
  const secret = token.trim();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void signIn.run("token", async () => {
          const response = await fetch(apiUrl("/user/tokens/verify"), {
            headers: { authorization: `Bearer ${secret}` },
            credentials: "omit",
            cache: "no-store",
          });
          if (!response.ok) throw await readError(response);
          signIn.start(secret);
        });
      }}
    >
      <Stack gap="sm">
        <PasswordInput
          label="API token"
          description="The first start of the server prints one."
          value={token}
          autoComplete="off"
          required
          withAsterisk={false}
          onChange={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <Button
          type="submit"
          variant="default"
          size="sm"
          fullWidth
          loading={signIn.running === "token"}
          disabled={secret === ""}
        >
          Use an API token
        </Button>
      </Stack>
    </form>
  );
}

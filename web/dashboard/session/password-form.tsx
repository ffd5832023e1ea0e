import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { callAuth } from "./auth.ts";
import type { SignInState } from "./use-sign-in.ts";

export function PasswordForm({ signIn }: { signIn: SignInState }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void signIn.run("password", () => callAuth("/auth/password", { email: email.trim(), password }));
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Email"
          type="email"
          value={email}
          autoComplete="username webauthn"
          required
          withAsterisk={false}
          autoFocus
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          value={password}
          autoComplete="current-password"
          required
          withAsterisk={false}
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
        />
        <Button
          type="submit"
          size="sm"
          fullWidth
          loading={signIn.running === "password"}
          disabled={email.trim() === "" || password === ""}
        >
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

import { z } from "@hono/zod-openapi";
import type { AccountsModule, Confirmation, Passkey } from "../../accounts/index.ts";
import { respond, route, type Call, type Route } from "../operation.ts";
import { secretField } from "../secret-fields.ts";
import { idResult } from "./account-schema.ts";

const tag = "Sign-in";

/** Required unless the caller is a session that was opened in the last 15 minutes. */
const confirmationFields = {
  current_password: z.string().max(1024).optional(),
  /** A one-time code or a recovery code. */
  code: z.string().max(64).optional(),
};
const confirmationBody = z.object(confirmationFields);

const confirmationOf = ({ current_password: password, code }: z.output<typeof confirmationBody>): Confirmation => ({
  password,
  code,
});

const showTime = (ms: number) => new Date(ms).toISOString();

const passwordResult = z.object({ enabled: z.boolean(), changed_on: z.string().nullable() });
const twoFactorResult = z.object({
  enabled: z.boolean(),
  recovery_codes: z.number(),
  required: z
    .boolean()
    .describe("True if the user must set up a second factor before the session can do anything else."),
});
const recoveryCodesResult = z.object({ recovery_codes: secretField(z.array(z.string())) });

const passkeyResult = z.object({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  synced: z.boolean(),
  created_on: z.string(),
  last_used_on: z.string().nullable(),
});

const showPasskey = (passkey: Passkey): z.input<typeof passkeyResult> => ({
  id: passkey.id,
  name: passkey.name,
  host: passkey.rpId,
  synced: passkey.synced,
  created_on: showTime(passkey.createdAt),
  last_used_on: passkey.lastUsedAt === null ? null : showTime(passkey.lastUsedAt),
});

const passkeyName = z
  .string()
  .trim()
  .min(1)
  .max(60)
  // oxlint-disable-next-line no-control-regex
  .regex(/^[^\u0000-\u001f\u007f]*$/, "must have no control characters");

/** Structures of Web Authentication Level 3; the domain validates what the authenticator signed. */
const registrationResponse = z.looseObject({
  id: z.string().max(2048),
  rawId: z.string().max(2048),
  type: z.literal("public-key"),
  response: z.looseObject({ clientDataJSON: z.string(), attestationObject: z.string() }),
  clientExtensionResults: z.looseObject({}),
});
const creationOptions = z.looseObject({ challenge: z.string() });

type SignInDomains = Pick<AccountsModule, "passwords" | "twoFactor" | "passkeys">;

/** How the user signs in. Changes require a confirmation; see docs/dashboard-sign-in.md. */
export const userSignInRoutes = (domains: SignInDomains): Route[] => [
  ...passwordRoutes(domains),
  ...twoFactorRoutes(domains),
  ...passkeyRoutes(domains),
];

const passwordRoutes = ({ passwords }: Pick<SignInDomains, "passwords">): Route[] => {
  const show = async ({ caller }: Pick<Call, "caller">) => {
    const changedAt = await passwords.changedAt(caller);
    return { enabled: changedAt !== undefined, changed_on: changedAt === undefined ? null : showTime(changedAt) };
  };
  return [
    route(
      {
        id: "user-password-get",
        method: "get",
        path: "/user/password",
        tag,
        summary: "Get whether the user has a password",
        permission: "User Details Read",
        result: passwordResult,
      },
      async (call) => respond(await show(call)),
    ),

    route(
      {
        id: "user-password-set",
        method: "put",
        path: "/user/password",
        tag,
        summary: "Set the user's password, and revoke all other sessions",
        permission: "User Details Write",
        body: z.object({ new_password: z.string().max(1024), ...confirmationFields }),
        result: passwordResult,
      },
      async (call) => {
        await passwords.set(call.caller, call.body.new_password, confirmationOf(call.body));
        return respond(await show(call));
      },
    ),

    route(
      {
        id: "user-password-delete",
        method: "delete",
        path: "/user/password",
        tag,
        summary: "Delete the user's password, and revoke all other sessions",
        permission: "User Details Write",
        body: confirmationBody,
        bodyOptional: true,
        result: passwordResult,
      },
      async (call) => {
        await passwords.delete(call.caller, confirmationOf(call.body));
        return respond(await show(call));
      },
    ),
  ];
};

const twoFactorRoutes = ({ twoFactor }: Pick<SignInDomains, "twoFactor">): Route[] => {
  const show = async ({ caller }: Pick<Call, "caller">) => {
    const { enabled, recoveryCodes } = await twoFactor.status(caller);
    return { enabled, recovery_codes: recoveryCodes, required: caller.secondFactorRequired === true };
  };
  return [
    route(
      {
        id: "user-two-factor-get",
        method: "get",
        path: "/user/two_factor",
        tag,
        summary: "Get whether two-factor authentication is enabled, and the number of unused recovery codes",
        permission: "User Details Read",
        result: twoFactorResult,
      },
      async (call) => respond(await show(call)),
    ),

    route(
      {
        id: "user-two-factor-enroll",
        method: "post",
        path: "/user/two_factor",
        tag,
        summary: "Create the secret of an authenticator app; a first code enables it",
        permission: "User Details Write",
        body: confirmationBody,
        bodyOptional: true,
        result: z.object({ secret: secretField(z.string()), uri: secretField(z.string()) }),
      },
      async ({ caller, body }) => respond(await twoFactor.enroll(caller, confirmationOf(body))),
    ),

    route(
      {
        id: "user-two-factor-confirm",
        method: "post",
        path: "/user/two_factor/confirm",
        tag,
        summary: "Enable two-factor authentication with a first code, and revoke all other sessions",
        permission: "User Details Write",
        body: z.object({ code: z.string().max(64) }),
        result: recoveryCodesResult,
      },
      async ({ caller, body }) => respond({ recovery_codes: await twoFactor.confirm(caller, body.code) }),
    ),

    route(
      {
        id: "user-two-factor-recovery-codes",
        method: "post",
        path: "/user/two_factor/recovery_codes",
        tag,
        summary: "Replace the recovery codes",
        permission: "User Details Write",
        body: confirmationBody,
        bodyOptional: true,
        result: recoveryCodesResult,
      },
      async ({ caller, body }) =>
        respond({ recovery_codes: await twoFactor.createRecoveryCodes(caller, confirmationOf(body)) }),
    ),

    route(
      {
        id: "user-two-factor-disable",
        method: "delete",
        path: "/user/two_factor",
        tag,
        summary: "Disable two-factor authentication",
        permission: "User Details Write",
        body: confirmationBody,
        bodyOptional: true,
        result: twoFactorResult,
      },
      async (call) => {
        await twoFactor.disable(call.caller, confirmationOf(call.body));
        return respond(await show(call));
      },
    ),
  ];
};

const passkeyRoutes = ({ passkeys }: Pick<SignInDomains, "passkeys">): Route[] => [
  route(
    {
      id: "user-passkeys-list",
      method: "get",
      path: "/user/passkeys",
      tag,
      summary: "List the user's passkeys",
      permission: "User Details Read",
      result: z.array(passkeyResult),
    },
    async ({ caller }) => respond((await passkeys.list(caller)).map(showPasskey)),
  ),

  route(
    {
      id: "user-passkeys-registration-options",
      method: "post",
      path: "/user/passkeys/registration_options",
      tag,
      summary: "Create the options of navigator.credentials.create() for a page of the dashboard",
      audit: false,
      permission: "User Details Write",
      body: confirmationBody,
      bodyOptional: true,
      result: z.object({ options: creationOptions, ticket: z.string() }),
    },
    async ({ caller, body, request }) => {
      const { options, ticket } = await passkeys.registrationOptions(
        caller,
        request.headers.get("origin") ?? "",
        confirmationOf(body),
      );
      return respond({ options: { ...options }, ticket });
    },
  ),

  route(
    {
      id: "user-passkeys-register",
      method: "post",
      path: "/user/passkeys",
      tag,
      summary: "Register a passkey",
      permission: "User Details Write",
      body: z.object({ ticket: z.string().max(4096), name: passkeyName, response: registrationResponse }),
      result: passkeyResult,
    },
    async ({ caller, body: { ticket, name, response } }) =>
      respond(
        showPasskey(
          await passkeys.register(caller, {
            ticket,
            name,
            response: response as unknown as Parameters<typeof passkeys.register>[1]["response"],
          }),
        ),
      ),
  ),

  route(
    {
      id: "user-passkeys-rename",
      method: "patch",
      path: "/user/passkeys/{passkey_id}",
      tag,
      summary: "Rename a passkey",
      permission: "User Details Write",
      body: z.object({ name: passkeyName }),
      result: passkeyResult,
    },
    async ({ caller, params, body }) =>
      respond(showPasskey(await passkeys.rename(caller, params.passkey_id!, body.name))),
  ),

  route(
    {
      id: "user-passkeys-delete",
      method: "delete",
      path: "/user/passkeys/{passkey_id}",
      tag,
      summary: "Delete a passkey",
      permission: "User Details Write",
      body: confirmationBody,
      bodyOptional: true,
      result: idResult,
    },
    async ({ caller, params, body }) => {
      await passkeys.delete(caller, params.passkey_id!, confirmationOf(body));
      return respond({ id: params.passkey_id! });
    },
  ),
];

import { z } from "@hono/zod-openapi";
import type { AccountsModule, Caller, User } from "../../accounts/index.ts";
import { respond, route, type Route } from "../operation.ts";

const tag = "User";

const userResult = z.object({
  id: z.string(),
  email: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  telephone: z.string().nullable(),
  country: z.string().nullable(),
  zipcode: z.string().nullable(),
  suspended: z.boolean(),
  two_factor_authentication_enabled: z.boolean(),
  two_factor_authentication_locked: z.boolean(),
  has_pro_zones: z.boolean(),
  has_business_zones: z.boolean(),
  has_enterprise_zones: z.boolean(),
  betas: z.array(z.string()),
  organizations: z.array(z.unknown()),
});

/** Plans, betas and organizations exist only in the hosted service. */
const showUser = ({
  id,
  email,
  firstName,
  lastName,
  telephone,
  country,
  zipcode,
  hasTwoFactor,
}: User & { hasTwoFactor: boolean }): z.input<typeof userResult> => ({
  id,
  email,
  first_name: firstName,
  last_name: lastName,
  telephone,
  country,
  zipcode,
  suspended: false,
  two_factor_authentication_enabled: hasTwoFactor,
  two_factor_authentication_locked: false,
  has_pro_zones: false,
  has_business_zones: false,
  has_enterprise_zones: false,
  betas: [],
  organizations: [],
});

// PostgreSQL rejects U+0000 in text, and names contain no other control characters.
const text = (max: number) =>
  z
    .string()
    .max(max)
    // oxlint-disable-next-line no-control-regex
    .regex(/^[^\u0000-\u001f\u007f]*$/, "must have no control characters")
    .nullish();

export const userRoutes = ({ users, twoFactor }: Pick<AccountsModule, "users" | "twoFactor">): Route[] => {
  const show = async (caller: Caller, user: User) =>
    showUser({ ...user, hasTwoFactor: (await twoFactor.status(caller)).enabled });
  return [
    route(
      {
        id: "user-user-details",
        method: "get",
        path: "/user",
        tag,
        summary: "Get the user",
        permission: "User Details Read",
        result: userResult,
      },
      async ({ caller }) => respond(await show(caller, await users.get(caller))),
    ),

    route(
      {
        id: "user-edit-user",
        method: "patch",
        path: "/user",
        tag,
        summary: "Edit the user",
        permission: "User Details Write",
        body: z.object({
          first_name: text(60),
          last_name: text(60),
          telephone: text(20),
          country: text(30),
          zipcode: text(20),
        }),
        result: userResult,
      },
      async ({ caller, body: { first_name: firstName, last_name: lastName, telephone, country, zipcode } }) =>
        respond(await show(caller, await users.update(caller, { firstName, lastName, telephone, country, zipcode }))),
    ),
  ];
};

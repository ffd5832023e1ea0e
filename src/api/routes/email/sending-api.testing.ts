import { type TestContext } from "node:test";
import { type TestEngine } from "../../../../test/support/databases.ts";
import type { Caller, Permission } from "../../../accounts/index.ts";
import { unrestrictedCaller, startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { openSendingModules } from "./sending.testing.ts";
import { emailSendingRoutes } from "./sending.ts";

export async function start(
  t: TestContext,
  engine: TestEngine,
  {
    caller = unrestrictedCaller,
    ...options
  }: NonNullable<Parameters<typeof openSendingModules>[2]> & { caller?: Caller } = {},
) {
  const opened = await openSendingModules(t, engine, options);
  const { call, url } = await startApi(t, {
    routes: emailSendingRoutes(opened),
    caller,
    accessControl: { zoneAccount: opened.zones.zoneAccount },
  });
  const zone = await opened.zones.create({ account: TEST_ACCOUNT, name: "example.com" });
  const base = `/zones/${zone.id}/email/sending/subdomains`;
  const account = `/accounts/${TEST_ACCOUNT}/email/sending`;
  return {
    ...opened,
    call,
    url,
    zone,
    base,
    account,
    ready: async () => (await call("post", base, { body: { name: "example.com" } })).body.result.tag as string,
  };
}

export type SendingResponse = {
  status: number;
  body: { errors: { code: number; message: string; error_chain?: { message: string }[] }[]; result: unknown };
};
export const sendingErrorOf = ({ status, body }: SendingResponse) => [
  status,
  body.errors[0]!.code,
  body.errors[0]!.message,
];
export const chainedReasonOf = ({ body }: SendingResponse) => body.errors[0]!.error_chain?.[0]?.message;
export const sendingCallerWith = (...permissions: Permission[]): Caller => ({
  ...unrestrictedCaller,
  allows: (permission) => permissions.includes(permission),
});

import { onEveryDatabase } from "../../test/support/databases.ts";
import { accountsConformance } from "./accounts.conformance.ts";
import { passkeysConformance } from "./passkeys.conformance.ts";
import { membersConformance } from "./members/members.conformance.ts";
import { s3CredentialsConformance } from "./s3-credentials.conformance.ts";
import { sessionsConformance } from "./sessions.conformance.ts";
import { signInConformance } from "./sign-in.conformance.ts";
import { tokensConformance } from "./tokens.conformance.ts";
import { twoFactorConformance } from "./two-factor.conformance.ts";

onEveryDatabase((engine) => {
  accountsConformance(engine);
  tokensConformance(engine);
  s3CredentialsConformance(engine);
  sessionsConformance(engine);
  signInConformance(engine);
  twoFactorConformance(engine);
  passkeysConformance(engine);
  membersConformance(engine);
});

import { addressErrors, type SendVerification } from "../addresses/index.ts";
import { sendSystemMessage, type SystemMessageDeps } from "./system-message.ts";

/**
 * Sends the verification email to a new destination address. Throws UserError verificationRefused, verificationDelayed.
 */
export function createVerificationMail(deps: SystemMessageDeps): SendVerification {
  return async (to, link) => {
    const text = (address: string) =>
      `A request was made to forward mail to ${address}.\n\nIf you made this request, open this page and confirm it:\n\n${link}\n\nIf you did not, ignore this message: no mail will be forwarded.\n`;
    const refusal = await sendSystemMessage({ to, subject: "Verify your address", text }, deps);
    if (refusal === undefined) return;
    const { temporary, details } = refusal;
    throw temporary ? addressErrors.verificationDelayed(details) : addressErrors.verificationRefused(details);
  };
}

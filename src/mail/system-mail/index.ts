export { createInvitationMail, type SendInvitationMail } from "./invitation-mail.ts";
export { createSystemMail } from "./system-mail.ts";
export { createVerificationMail } from "./verification-mail.ts";

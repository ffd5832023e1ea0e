export { createSystemMail } from "./system-mail.ts";
export { createVerificationMail } from "./verification-mail.ts";

import { accountErrors } from "./errors.ts";

/** Clients validate addresses before they display them, so only common forms are accepted. */
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/i;

/** Throws badAccount unless the text is an email address such as ann@example.com. */
export function checkEmail(text: string): void {
  if (EMAIL.test(text)) return;
  throw accountErrors.badAccount({
    field: "email",
    reason: `${JSON.stringify(text.slice(0, 100))} is not an address such as ann@example.com`,
  });
}
